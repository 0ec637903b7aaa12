"""Fills a store with a fleet and keeps changing it: claims come and go, devices fail and recover."""

import copy
import random
from datetime import datetime, timedelta, timezone

from objects import KINDS, Kind, claim, event, node_name, resource_slice, slice_name, taint, taint_rule
from store import CLAIMS, EVENTS, RULES, SLICES, Store

NAMESPACES = ("training", "inference", "research")
EVENTS_KEPT = 200  # an API server forgets Events after an hour


class Scene:
    def __init__(self, store: Store, nodes: int, drivers: int, devices: int, seed: int):
        self.store, self.nodes, self.devices = store, nodes, devices
        self.kinds = KINDS[:drivers]
        self.random = random.Random(seed)
        self.now = datetime(2030, 1, 1, 8, tzinfo=timezone.utc)
        self.number = 0
        self.held: dict[tuple[str, str], str] = {}  # (slice, device) -> name of the claim
        self.sick: list[tuple[str, str]] = []
        self.events: list[str] = []
        self.rules: list[str] = []

    def fill(self) -> None:
        for node in range(self.nodes):
            for kind in self.kinds:
                self.store.put(SLICES, resource_slice(kind, node, self.devices))
        for node in range(self.nodes):
            for kind in self.kinds:
                # Some are idle, more are full, and the others are in between.
                wanted = self.random.choice((0, self.devices // 4, self.devices // 2, self.devices, self.devices))
                while wanted > 0:
                    count = min(wanted, self.random.choice((1, 1, 2, 4)))
                    self._hold(kind, node_name(node), count)
                    wanted -= count
        for _ in range((self.nodes + 19) // 20):
            self._sicken()
        for _ in range((self.nodes + 49) // 50):
            self._cordon()

    def step(self) -> None:
        """One change."""
        self.now += timedelta(seconds=self.random.randint(1, 20))
        self.random.choices((self._pod_comes, self._pod_goes, self._sicken, self._heal, self._cordon, self._uncordon),
                            (8, 8, 2, 2, 0.3, 0.3))[0]()

    def _time(self) -> str:
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    def _any_place(self) -> tuple[Kind, str]:
        return self.random.choice(self.kinds), node_name(self.random.randrange(self.nodes))

    def _free(self, kind: Kind, node: str) -> list[str]:
        name = slice_name(kind, node)
        devices = self.store.get(SLICES, name)["spec"]["devices"]
        return [device["name"] for device in devices
          if (name, device["name"]) not in self.held and "taints" not in device]

    def _hold(self, kind: Kind, node: str, count: int) -> None:
        devices = self._free(kind, node)[:count]
        if not devices:
            return
        self.number += 1
        namespace = self.random.choice(NAMESPACES)
        name = f"{namespace}-job-{self.number}"
        self.store.put(CLAIMS, claim(name, namespace, kind.driver, node, devices, self._time()))
        for device in devices:
            self.held[slice_name(kind, node), device] = f"{namespace}/{name}"

    def _pod_comes(self) -> None:
        self._hold(*self._any_place(), self.random.choice((1, 1, 2, 4)))

    def _pod_goes(self) -> None:
        if not self.held:
            return
        name = self.random.choice(sorted(set(self.held.values())))
        self.store.delete(CLAIMS, name)
        self.held = {device: claim_name for device, claim_name in self.held.items() if claim_name != name}

    def _change_taints(self, name: str, device_name: str, taints: list[dict]) -> None:
        changed = copy.deepcopy(self.store.get(SLICES, name))
        for device in changed["spec"]["devices"]:
            if device["name"] == device_name:
                device.pop("taints", None)
                device |= {"taints": taints} if taints else {}
        self.store.put(SLICES, changed)

    def _write_event(self, node: str, reason: str, note: str, warning: bool) -> None:
        self.number += 1
        name = f"{node}.{self.number:x}"
        self.store.put(EVENTS, event(name, node, reason, note, warning, self._time()))
        self.events.append(f"default/{name}")
        while len(self.events) > EVENTS_KEPT:
            self.store.delete(EVENTS, self.events.pop(0))

    def _sicken(self) -> None:
        kind, node = self._any_place()
        name = slice_name(kind, node)
        device = f"{kind.prefix}-{self.random.randrange(self.devices)}"
        if (name, device) in self.sick:
            return
        fault = self.random.choice(kind.faults)
        self._change_taints(name, device, [taint(kind.driver, fault.cause, fault.effect, self._time())])
        self.sick.append((name, device))
        self._write_event(node, "DeviceUnhealthy",
          f"{device} is unhealthy: {fault.text}; see 'cagectl health' on the node", True)

    def _heal(self) -> None:
        if not self.sick:
            return
        name, device = self.sick.pop(self.random.randrange(len(self.sick)))
        self._change_taints(name, device, [])
        node = self.store.get(SLICES, name)["spec"]["nodeName"]
        self._write_event(node, "DeviceHealthy", f"{device} is healthy again", False)

    def _cordon(self) -> None:
        self.number += 1
        kind, node = self._any_place()
        device = f"{kind.prefix}-{self.random.randrange(self.devices)}"
        name = f"maintenance-{self.number}"
        self.store.put(RULES, taint_rule(name, kind.driver, node, device, self._time()))
        self.rules.append(name)

    def _uncordon(self) -> None:
        if self.rules:
            self.store.delete(RULES, self.rules.pop(0))
