"""Follows the ResourceSlices of all nodes by their metadata, which costs the API server little."""

import http.client
import json
import ssl
import threading
import time
from urllib.parse import urlsplit

from api import RESOURCES
from node import API_URL, CERTIFICATES

METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


class SliceWatch(threading.Thread):
    """A watch on all slices, which starts again with what exists when its connection breaks."""

    def __init__(self):
        super().__init__(daemon=True)
        self.lock = threading.Lock()
        self.versions: dict[str, int] = {}  # by name
        self.last_change = 0.0              # time.monotonic() of the last event
        self.connection: http.client.HTTPSConnection | None = None

    def count(self) -> int:
        with self.lock:
            return len(self.versions)

    def newest(self) -> int:
        with self.lock:
            return max(self.versions.values(), default=0)

    def count_newer(self, version: int) -> int:
        with self.lock:
            return sum(each > version for each in self.versions.values())

    def reconnect(self) -> None:
        """Ends a connection to a server that is gone."""
        connection = self.connection
        if connection and connection.sock:
            connection.sock.close()

    def run(self) -> None:
        while True:
            try:
                self._follow()
            except (OSError, http.client.HTTPException, ValueError, AttributeError):
                time.sleep(0.1)

    def _follow(self) -> None:
        address = urlsplit(API_URL)
        context = ssl.create_default_context(cafile=str(CERTIFICATES / "ca.crt"))
        context.load_cert_chain(CERTIFICATES / "admin.crt", CERTIFICATES / "admin.key")
        self.connection = http.client.HTTPSConnection(address.hostname, address.port, timeout=600, context=context)
        self.connection.request("GET", f"{RESOURCES}/resourceslices?watch=1&resourceVersion=0", headers={"Accept": METADATA})
        response = self.connection.getresponse()
        if response.status != 200:
            raise ValueError(response.status)
        found: dict[str, int] = {}
        with self.lock:
            self.versions = found
        for line in response:
            event = json.loads(line)
            metadata = event["object"]["metadata"]
            with self.lock:
                if event["type"] == "DELETED":
                    found.pop(metadata["name"], None)
                elif event["type"] in ("ADDED", "MODIFIED"):
                    found[metadata["name"]] = int(metadata["resourceVersion"])
                else:
                    continue
                self.last_change = time.monotonic()
