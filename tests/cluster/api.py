"""Requests to the API server over one kept connection: each poll with kubectl would cost 0.2 s of processor time."""

import http.client
import json
import ssl
from urllib.parse import urlencode, urlsplit

from node import API_URL, CERTIFICATES
from waiting import until

RESOURCES = "/apis/resource.k8s.io/v1"


class Api:
    def __init__(self, url: str = API_URL):
        self.address = urlsplit(url)
        self.context = ssl.create_default_context(cafile=str(CERTIFICATES / "ca.crt"))
        self.context.load_cert_chain(CERTIFICATES / "admin.crt", CERTIFICATES / "admin.key")
        self.connection: http.client.HTTPSConnection | None = None

    def request(self, method: str, path: str, body: dict | None = None, user: dict | None = None) -> tuple[int, bytes]:
        """`user` holds Impersonate-… headers, for a request in the name of another user."""
        for attempt in (1, 2):  # retries once if the server closed the kept connection
            if not self.connection:
                self.connection = http.client.HTTPSConnection(
                    self.address.hostname, self.address.port, timeout=30, context=self.context)
            try:
                self.connection.request(method, path, json.dumps(body) if body is not None else None,
                                        {"Content-Type": "application/json", **(user or {})})
                response = self.connection.getresponse()
                return response.status, response.read()
            except (http.client.HTTPException, OSError):
                self.connection = None
                if attempt == 2:
                    raise
        raise AssertionError("unreachable")

    def get(self, path: str) -> dict | None:
        """Returns the object at the path, or None."""
        status, body = self.request("GET", path)
        if status == 404:
            return None
        assert status == 200, f"GET {path}: {status} {body.decode(errors='replace')}"
        return json.loads(body)

    def items(self, path: str, **query: str) -> list[dict]:
        collection = self.get(f"{path}?{urlencode(query)}")
        return collection["items"] if collection else []

    def create(self, path: str, body: dict) -> dict:
        status, response = self.request("POST", path, body)
        assert status == 201, f"POST {path}: {status} {response.decode(errors='replace')}"
        return json.loads(response)

    def delete(self, path: str, grace_seconds: int | None = None) -> None:
        options = {} if grace_seconds is None else {"gracePeriodSeconds": grace_seconds}
        status, response = self.request("DELETE", path, options)
        assert status in (200, 202, 404), f"DELETE {path}: {status} {response.decode(errors='replace')}"

    def slices(self, driver: str) -> list[dict]:
        return self.items(f"{RESOURCES}/resourceslices", fieldSelector=f"spec.driver={driver}")

    def ready(self) -> bool:
        return self.request("GET", "/readyz")[0] == 200

    def wait_ready(self, seconds: float) -> None:
        until(self.ready, "kube-apiserver /readyz", seconds)
