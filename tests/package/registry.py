"""A container registry in memory on a port of this machine: the parts of the OCI distribution API for pushing and reading an image."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Registry:
    def __init__(self):
        self.contents: dict[str, tuple[str, bytes]] = {}  # media type and bytes by path
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"contents": self.contents}))
        self.address = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self):
        self.server.shutdown()
        self.server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    contents: dict[str, tuple[str, bytes]]

    def log_message(self, *_):
        pass

    def _respond(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def do_GET(self):
        if self.path == "/v2/":
            return self._respond(200)
        if self.path.endswith("/tags/list"):
            folder = f"{self.path.removesuffix('/tags/list')}/manifests/"
            tags = [path.removeprefix(folder) for path in self.contents if path.startswith(folder) and ":" not in path]
            return self._respond(200, json.dumps({"name": folder.split("/")[2], "tags": tags}).encode())
        if self.path not in self.contents:
            return self._respond(404)
        kind, body = self.contents[self.path]
        return self._respond(200, body, Content_Type=kind, Docker_Content_Digest=_digest(body))

    do_HEAD = do_GET

    def do_POST(self):
        self._respond(202, Location=f"{self.path.rstrip('/')}/upload{id(self)}")

    def do_PATCH(self):
        kind, before = self.contents.get(self.path, ("", b""))
        self.contents[self.path] = (kind, before + self._body())
        self._respond(202, Location=self.path)

    def do_PUT(self):
        path, _, query = self.path.partition("?")
        body = self._body()
        if "/manifests/" in path:
            kind = self.headers["Content-Type"]
            for name in path, f"{path.rsplit('/', 1)[0]}/{_digest(body)}":
                self.contents[name] = (kind, body)
            return self._respond(201, Docker_Content_Digest=_digest(body))
        body = self.contents.pop(path, ("", b""))[1] + body
        digest = query.removeprefix("digest=").replace("%3A", ":")
        if digest != _digest(body):
            return self._respond(400)
        self.contents[f"{path.split('/uploads/')[0]}/{digest}"] = ("application/octet-stream", body)
        return self._respond(201, Docker_Content_Digest=digest)


def _digest(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
