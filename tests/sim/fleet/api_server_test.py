"""The API server of the simulated fleet lists in pages and watches from a resource version, as a real one does."""

import http.client
import json
import ssl
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "sim/fleet"))

from api_server import TOKEN, ApiServer  # noqa: E402
from scene import Scene  # noqa: E402
from store import Store  # noqa: E402

GROUP = "/apis/resource.k8s.io/v1"
SECONDS = 60


class Server(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.store = Store()
        self.scene = Scene(self.store, nodes=7, drivers=3, devices=8, seed=1)
        self.scene.fill()
        self.server = ApiServer(self.store, Path(folder.name))
        self.addCleanup(self.server.server_close)
        self.trust = ssl.create_default_context(cafile=Path(folder.name) / "api-server.pem")
        thread = threading.Thread(target=self.server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.shutdown)

    def open(self, path: str, query: dict | None = None, method: str = "GET",
      body: dict | None = None, token: str = TOKEN):
        connection = http.client.HTTPSConnection("127.0.0.1", self.server.server_address[1], timeout=SECONDS,
          context=self.trust)
        self.addCleanup(connection.close)
        text = None if body is None else json.dumps(body)
        connection.request(method, path + ("?" + urlencode(query) if query else ""), text,
          {"Authorization": f"Bearer {token}"})
        return connection.getresponse()

    def call(self, *arguments, **keywords) -> dict:
        with self.open(*arguments, **keywords) as response:
            result = json.loads(response.read())
            self.assertLess(response.status, 300, result)
            return result

    def watch(self, plural: str, version: str, path: str = GROUP, **query):
        return self.open(f"{path}/{plural}", {"watch": 1, "resourceVersion": version, "timeoutSeconds": SECONDS} | query)

    def test_pages_make_the_whole_list(self) -> None:
        whole = self.call(f"{GROUP}/resourceslices")
        self.assertEqual((whole["kind"], whole["apiVersion"]), ("ResourceSliceList", "resource.k8s.io/v1"))
        self.assertEqual(len(whole["items"]), 21)
        names, query = [], {"limit": 5}
        while True:
            page = self.call(f"{GROUP}/resourceslices", query)
            names += [item["metadata"]["name"] for item in page["items"]]
            self.assertLessEqual(len(page["items"]), 5)
            self.assertEqual(page["metadata"].get("remainingItemCount", 0), 21 - len(names))
            if "continue" not in page["metadata"]:
                break
            query["continue"] = page["metadata"]["continue"]
        self.assertEqual(names, [item["metadata"]["name"] for item in whole["items"]])

    def test_field_selectors(self) -> None:
        chosen = self.call(f"{GROUP}/resourceslices", {"fieldSelector": "spec.driver=npu.acme.dev,spec.nodeName=rack001-node3"})
        [item] = chosen["items"]
        self.assertEqual(item["metadata"]["name"], "00000-npu.acme.dev-rack001-node3")
        others = self.call(f"{GROUP}/resourceslices", {"fieldSelector": "spec.driver!=npu.acme.dev"})
        self.assertEqual(len(others["items"]), 14)

    def test_watch_delivers_each_change_once_and_in_order(self) -> None:
        listed = self.call(f"{GROUP}/resourceclaims")
        known = {item["metadata"]["uid"] for item in listed["items"]}
        stream = self.watch("resourceclaims", listed["metadata"]["resourceVersion"])
        for _ in range(50):
            self.scene.step()
        after = self.call(f"{GROUP}/resourceclaims")
        wanted = {item["metadata"]["uid"] for item in after["items"]}
        last = int(listed["metadata"]["resourceVersion"])
        while known != wanted:
            event = json.loads(stream.readline())
            version = int(event["object"]["metadata"]["resourceVersion"])
            self.assertGreater(version, last)
            last = version
            uid = event["object"]["metadata"]["uid"]
            if event["type"] == "DELETED":
                known.remove(uid)
            else:
                self.assertEqual(event["type"], "ADDED")
                known.add(uid)

    def test_bookmarks_advance_a_watch_without_changes(self) -> None:
        version = self.call("/api/v1/events")["metadata"]["resourceVersion"]
        stream = self.watch("events", version, path="/api/v1", allowWatchBookmarks="true")
        for claim in self.call(f"{GROUP}/resourceclaims")["items"][:3]:
            metadata = claim["metadata"]
            self.call(f"{GROUP}/namespaces/{metadata['namespace']}/resourceclaims/{metadata['name']}", method="DELETE")
        event = json.loads(stream.readline())
        self.assertEqual(event["type"], "BOOKMARK")
        self.assertEqual(event["object"]["kind"], "Event")
        self.assertGreater(int(event["object"]["metadata"]["resourceVersion"]), int(version))

    def test_watch_ends_after_its_time(self) -> None:
        with self.watch("devicetaintrules", str(self.store.version), timeoutSeconds=0) as stream:
            self.assertEqual(stream.read(), b"")

    def test_version_that_is_too_old_is_gone(self) -> None:
        old = self.call(f"{GROUP}/resourceslices")["metadata"]["resourceVersion"]
        self.scene.step()
        self.store.forget()
        event = json.loads(self.watch("resourceslices", old).readline())
        self.assertEqual(event["type"], "ERROR")
        self.assertEqual((event["object"]["code"], event["object"]["reason"]), (410, "Expired"))

    def test_writes(self) -> None:
        path = f"{GROUP}/resourceslices/00000-gpu.nvidia.com-rack001-node1"
        item = self.call(path)
        item["spec"]["devices"].pop()
        changed = self.call(path, method="PUT", body=item)
        self.assertNotEqual(changed["metadata"]["resourceVersion"], item["metadata"]["resourceVersion"])
        with self.open(path, method="PUT", body=item) as conflict:
            self.assertEqual(conflict.status, 409)
        self.call(path, method="DELETE")
        with self.open(path) as gone:
            self.assertEqual((gone.status, json.loads(gone.read())["reason"]), (404, "NotFound"))
        del item["metadata"]["resourceVersion"]
        self.call(f"{GROUP}/resourceslices", method="POST", body=item)
        self.assertEqual(len(self.call(path)["spec"]["devices"]), 7)

    def test_discovery_and_access(self) -> None:
        group = self.call("/apis/resource.k8s.io")
        self.assertEqual(group["preferredVersion"]["groupVersion"], "resource.k8s.io/v1")
        served = {resource["name"] for resource in self.call(GROUP)["resources"]}
        self.assertEqual(served, {"resourceslices", "resourceclaims", "devicetaintrules"})
        with self.open("/apis/resource.k8s.io/v1beta1/resourceslices") as unknown:
            self.assertEqual(unknown.status, 404)
        with self.open(f"{GROUP}/resourceslices", token="another") as refused:
            self.assertEqual(refused.status, 401)


if __name__ == "__main__":
    unittest.main()
