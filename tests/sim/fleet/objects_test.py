"""The objects of the simulated fleet keep the limits that the API server's validation of resource.k8s.io/v1 sets."""

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "sim/fleet"))

from scene import Scene  # noqa: E402
from store import CLAIMS, EVENTS, RULES, SLICES, Store  # noqa: E402

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
ATTRIBUTE = re.compile(r"([a-z0-9][-a-z0-9.]{0,61}[a-z0-9]/)?[A-Za-z_][A-Za-z0-9_]{0,31}")
LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
QUANTITY = re.compile(r"\d+(Ki|Mi|Gi|Ti|k|M|G|T)?")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
EFFECTS = {"None", "NoSchedule", "NoExecute"}


def texts(store: Store) -> list[bytes]:
    return [text for resource in (SLICES, CLAIMS, RULES, EVENTS)
      for text in store.page(resource, "", 0, lambda item: True)[0]]


def items(store: Store, resource) -> list[dict]:
    found: list[dict] = []
    store.page(resource, "", 0, lambda item: bool(found.append(item)))
    return found


class Objects(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.store = Store()
        cls.scene = Scene(cls.store, nodes=40, drivers=4, devices=8, seed=7)
        cls.scene.fill()
        for _ in range(500):
            cls.scene.step()

    def check_taint(self, taint: dict) -> None:
        self.assertEqual(set(taint), {"key", "value", "effect", "timeAdded"})
        prefix, _, name = taint["key"].partition("/")
        self.assertRegex(prefix, SUBDOMAIN)
        self.assertTrue(LABEL_VALUE.fullmatch(name) and LABEL_VALUE.fullmatch(taint["value"]), taint)
        self.assertIn(taint["effect"], EFFECTS)
        self.assertTrue(TIME.fullmatch(taint["timeAdded"]))

    def check_device(self, device: dict) -> None:
        self.assertTrue(LABEL.fullmatch(device["name"]))
        self.assertLessEqual(len(device["attributes"]) + len(device["capacity"]), 32)
        for name, value in device["attributes"].items():
            self.assertTrue(ATTRIBUTE.fullmatch(name), name)
            [(kind, content)] = value.items()
            self.assertIs(type(content), {"int": int, "bool": bool, "string": str, "version": str}[kind])
            if kind in ("string", "version"):
                self.assertLessEqual(len(content), 64)
            if kind == "version":
                self.assertTrue(VERSION.fullmatch(content), content)
        for name, value in device["capacity"].items():
            self.assertTrue(ATTRIBUTE.fullmatch(name) and QUANTITY.fullmatch(value["value"]))
        for taint in device.get("taints", []):
            self.check_taint(taint)
        self.assertNotEqual(device.get("taints"), [])  # the server drops empty lists

    def test_slices(self) -> None:
        slices = items(self.store, SLICES)
        self.assertEqual(len(slices), 40 * 4)
        for one in slices:
            spec = one["spec"]
            self.assertEqual(one["apiVersion"], "resource.k8s.io/v1")
            self.assertTrue(SUBDOMAIN.fullmatch(one["metadata"]["name"]))
            self.assertLessEqual(len(spec["driver"]), 63)
            self.assertEqual(set(spec), {"driver", "nodeName", "pool", "devices"})
            self.assertEqual(spec["pool"], {"name": spec["nodeName"], "generation": 1, "resourceSliceCount": 1})
            self.assertLessEqual(len(spec["devices"]), 64)  # the limit if a device has taints
            self.assertEqual(len({device["name"] for device in spec["devices"]}), len(spec["devices"]))
            [owner] = one["metadata"]["ownerReferences"]
            self.assertEqual((owner["kind"], owner["name"]), ("Node", spec["nodeName"]))
            for device in spec["devices"]:
                self.check_device(device)

    def test_claims_hold_devices_that_exist_and_only_once(self) -> None:
        devices = {(one["spec"]["driver"], one["spec"]["pool"]["name"], device["name"])
                   for one in items(self.store, SLICES) for device in one["spec"]["devices"]}
        held = []
        for claim in items(self.store, CLAIMS):
            results = claim["status"]["allocation"]["devices"]["results"]
            [request] = claim["spec"]["devices"]["requests"]
            self.assertEqual(request["exactly"]["count"], len(results))
            held += [(result["driver"], result["pool"], result["device"]) for result in results]
            self.assertEqual(claim["status"]["reservedFor"][0]["resource"], "pods")
        self.assertGreater(len(held), 100)
        self.assertEqual(len(set(held)), len(held))
        self.assertLessEqual(set(held), devices)

    def test_rules_and_events(self) -> None:
        rules, events = items(self.store, RULES), items(self.store, EVENTS)
        self.assertTrue(rules and events)
        for rule in rules:
            self.check_taint(rule["spec"]["taint"])
            self.assertEqual(set(rule["spec"]["deviceSelector"]), {"driver", "pool", "device"})
        nodes = {one["spec"]["nodeName"] for one in items(self.store, SLICES)}
        for event in events:
            self.assertEqual(event["metadata"]["namespace"], "default")
            self.assertIn(event["involvedObject"]["name"], nodes)
            self.assertLessEqual(len(event["message"]), 1024)
            self.assertIn(event["type"], ("Normal", "Warning"))

    def test_same_seed_makes_the_same_fleet(self) -> None:
        def fleet(seed: int) -> list[bytes]:
            store = Store()
            scene = Scene(store, nodes=10, drivers=2, devices=8, seed=seed)
            scene.fill()
            for _ in range(200):
                scene.step()
            return texts(store)

        self.assertEqual(fleet(3), fleet(3))
        self.assertNotEqual(fleet(3), fleet(4))

    def test_devices_get_sick_and_heal(self) -> None:
        reasons = {event["reason"] for event in items(self.store, EVENTS)}
        self.assertEqual(reasons, {"DeviceUnhealthy", "DeviceHealthy"})


if __name__ == "__main__":
    unittest.main()
