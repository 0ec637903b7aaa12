#!/usr/bin/env python3
"""An API server of a simulated fleet: lists in pages, watches with bookmarks, and writes, for the kinds in store.py.

Run it with `tools/run fleet`. It writes a kubeconfig, prints its address and serves until it is terminated. It is not a
Kubernetes: no controllers, no admission, no validation.
"""

import argparse
import base64
import json
import ssl
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from scene import Scene
from store import RESOURCES, Expired, NotFound, Resource, Store, key_of

TOKEN = "token-of-the-simulation"
BOOKMARK_SECONDS = 5
REASONS = {400: "BadRequest", 401: "Unauthorized", 404: "NotFound",
  405: "MethodNotAllowed", 409: "Conflict", 410: "Expired"}


class Refused(Exception):
    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code = code


def status_of(code: int, message: str) -> dict:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
            "reason": REASONS[code], "code": code}


def selector(text: str):
    """A predicate for a field selector: "spec.driver=a,spec.nodeName!=b"."""
    terms = []
    for term in filter(None, text.split(",")):
        path, equals, value = term.partition("=")
        terms.append((path.rstrip("!").split("."), value.lstrip("="), path.endswith("!")))
        if not equals:
            raise Refused(400, f"invalid field selector {text!r}")

    def keep(item: dict) -> bool:
        for path, value, negated in terms:
            field: object = item
            for step in path:
                field = field.get(step, "") if isinstance(field, dict) else ""
            if (field == value) == negated:
                return False
        return True

    return keep


def group_of(resource: Resource) -> str:
    return resource.path.removeprefix("/apis/").removeprefix("/api/")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "ApiServer"

    def log_message(self, format: str, *args) -> None:
        pass

    def do_GET(self) -> None:
        self._respond(self._get)

    def do_POST(self) -> None:
        self._respond(self._write)

    def do_PUT(self) -> None:
        self._respond(self._write)

    def do_DELETE(self) -> None:
        self._respond(self._delete)

    def _respond(self, act) -> None:
        try:
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                raise Refused(401, "Unauthorized")
            act()
        except Refused as error:
            self._send(error.code, json.dumps(status_of(error.code, str(error))).encode())
        except NotFound as error:
            self._send(404, json.dumps(status_of(404, str(error))).encode())
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            self.close_connection = True

    def _send(self, code: int, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _place(self) -> tuple[Resource, str, str]:
        """The resource, namespace and name of the path; the last two may be empty."""
        path = unquote(urlsplit(self.path).path)
        for resource in RESOURCES:
            if not path.startswith(resource.path + "/"):
                continue
            parts = path[len(resource.path) + 1:].split("/")
            namespace = ""
            if resource.namespaced and len(parts) > 2 and parts[0] == "namespaces":
                namespace, parts = parts[1], parts[2:]
            if parts[0] == resource.plural and len(parts) <= 2:
                return resource, namespace, parts[1] if len(parts) == 2 else ""
        raise Refused(404, "the server could not find the requested resource")

    def _get(self) -> None:
        url = urlsplit(self.path)
        document = discovery(url.path)
        if document is not None:
            self._send(200, json.dumps(document).encode())
            return
        resource, namespace, name = self._place()
        query = {key: values[-1] for key, values in parse_qs(url.query).items()}
        chosen = selector(query.get("fieldSelector", ""))

        def keep(item: dict) -> bool:
            return (not namespace or item["metadata"]["namespace"] == namespace) and chosen(item)

        if name:
            key = f"{namespace}/{name}" if resource.namespaced else name
            self._send(200, json.dumps(self.server.store.get(resource, key)).encode())
        elif query.get("watch") in ("1", "true"):
            self._watch(resource, keep, query)
        else:
            self._list(resource, keep, query)

    def _list(self, resource: Resource, keep, query: dict) -> None:
        version, after = self.server.store.version, ""
        if "continue" in query:
            version, after = json.loads(base64.urlsafe_b64decode(query["continue"]))
        items, last, left = self.server.store.page(resource, after, int(query.get("limit", 0)), keep)
        metadata: dict = {"resourceVersion": str(version)}
        if last:
            metadata["continue"] = base64.urlsafe_b64encode(json.dumps([version, last]).encode()).decode()
            # A list with a selector does not count what is left.
            if not query.get("fieldSelector"):
                metadata["remainingItemCount"] = left
        head = {"kind": f"{resource.kind}List", "apiVersion": group_of(resource), "metadata": metadata}
        self._send(200, json.dumps(head)[:-1].encode() + b', "items": [' + b",".join(items) + b"]}")

    def _watch(self, resource: Resource, keep, query: dict) -> None:
        store = self.server.store
        if not query.get("resourceVersion", "").isdecimal():
            raise Refused(400, "a watch needs the resourceVersion of a list")
        since = int(query["resourceVersion"])
        end = time.monotonic() + float(query.get("timeoutSeconds", 1800))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while time.monotonic() < end and not self.server.stopping:
                pause = min(end, time.monotonic() + BOOKMARK_SECONDS)
                changes, since = store.changes(resource, since, pause)
                for change in changes:
                    if keep(change.object):
                        self._chunk(b'{"type":"%s","object":%s}\n' % (change.type.encode(), change.text))
                if query.get("allowWatchBookmarks") in ("1", "true") and not changes and time.monotonic() >= pause:
                    mark = {"kind": resource.kind, "apiVersion": group_of(resource),
                      "metadata": {"resourceVersion": str(since)}}
                    self._chunk(json.dumps({"type": "BOOKMARK", "object": mark}).encode() + b"\n")
        except Expired as error:
            self._chunk(json.dumps({"type": "ERROR", "object": status_of(410, str(error))}).encode() + b"\n")
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _write(self) -> None:
        item = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        resource, namespace, name = self._place()
        if resource.namespaced:
            item["metadata"].setdefault("namespace", namespace)
        key = key_of(resource, item)
        store = self.server.store
        with store.changed:
            if name:
                known = store.get(resource, key)["metadata"]["resourceVersion"]
                if item["metadata"].get("resourceVersion", known) != known:
                    raise Refused(409, f"{resource.plural} {name!r}: the object has been modified")
            self._send(200 if name else 201, json.dumps(store.put(resource, item)).encode())

    def _delete(self) -> None:
        resource, namespace, name = self._place()
        key = f"{namespace}/{name}" if resource.namespaced else name
        self._send(200, json.dumps(self.server.store.delete(resource, key)).encode())


def discovery(path: str) -> dict | None:
    if path == "/version":
        return {"major": "1", "minor": "37", "gitVersion": "v1.37.0"}
    version = {"groupVersion": "resource.k8s.io/v1", "version": "v1"}
    if path == "/apis/resource.k8s.io":
        return {"kind": "APIGroup", "apiVersion": "v1", "name": "resource.k8s.io", "versions": [version],
          "preferredVersion": version}
    if path in ("/apis/resource.k8s.io/v1", "/api/v1"):
        served = [resource for resource in RESOURCES if resource.path == path]
        return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_of(served[0]),
                "resources": [{"name": resource.plural, "singularName": "", "namespaced": resource.namespaced,
                               "kind": resource.kind, "verbs": ["create", "delete", "get", "list", "update", "watch"]}
                              for resource in served]}
    return None


class ApiServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, store: Store, folder: Path, port: int = 0):
        super().__init__(("127.0.0.1", port), Handler)
        self.store, self.stopping = store, False
        certificate, key = folder / "api-server.pem", folder / "api-server.key"
        if not certificate.exists():
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                            "-days", "30", "-subj", "/CN=fleet", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key,
                            "-out", certificate], check=True, capture_output=True)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificate, key)
        self.url = f"https://127.0.0.1:{self.server_address[1]}"
        self.kubeconfig = folder / "kubeconfig"
        authority = base64.b64encode(certificate.read_bytes()).decode()
        self.kubeconfig.write_text(f"""\
apiVersion: v1
kind: Config
clusters: [{{name: fleet, cluster: {{server: "{self.url}", certificate-authority-data: {authority}}}}}]
users: [{{name: viewer, user: {{token: {TOKEN}}}}}]
contexts: [{{name: fleet, context: {{cluster: fleet, user: viewer}}}}]
current-context: fleet
""")

    # The handshake waits for the peer, so it happens in the thread of the connection.
    def get_request(self):
        connection, address = super().get_request()
        return self.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

    def finish_request(self, request, client_address) -> None:
        try:
            request.do_handshake()
        except OSError:
            return
        super().finish_request(request, client_address)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="for the kubeconfig and the certificate")
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--drivers", type=int, default=3)
    parser.add_argument("--devices", type=int, default=8, help="of each driver on each node")
    parser.add_argument("--pace", type=float, default=1.0, help="seconds between two changes; 0 = none")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    # The versions of an earlier run are too old for this one.
    store = Store(version=time.time_ns() // 1000)
    scene = Scene(store, arguments.nodes, arguments.drivers, arguments.devices, arguments.seed)
    scene.fill()
    server = ApiServer(store, arguments.folder, arguments.port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"serving {arguments.nodes} nodes at {server.url}, kubeconfig {server.kubeconfig}", flush=True)
    while True:
        time.sleep(arguments.pace or 3600)
        if arguments.pace:
            scene.step()


if __name__ == "__main__":
    main()
