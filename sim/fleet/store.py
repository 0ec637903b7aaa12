"""Objects with resource versions, and their changes for watches."""

import bisect
import json
import threading
import time
from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True)
class Resource:
    """A kind of object: its place in the API."""
    path: str  # "/apis/resource.k8s.io/v1"
    plural: str
    kind: str
    namespaced: bool


SLICES = Resource("/apis/resource.k8s.io/v1", "resourceslices", "ResourceSlice", False)
CLAIMS = Resource("/apis/resource.k8s.io/v1", "resourceclaims", "ResourceClaim", True)
RULES = Resource("/apis/resource.k8s.io/v1", "devicetaintrules", "DeviceTaintRule", False)
EVENTS = Resource("/api/v1", "events", "Event", True)
RESOURCES = (SLICES, CLAIMS, RULES, EVENTS)
HISTORY = 20000  # changes that a watch may still ask for


class Expired(Exception):
    """The resource version is older than the history."""


class NotFound(Exception):
    pass


@dataclass(frozen=True)
class Change:
    version: int
    resource: Resource
    type: str  # ADDED, MODIFIED, DELETED
    object: dict
    text: bytes


def key_of(resource: Resource, item: dict) -> str:
    metadata = item["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if resource.namespaced else metadata["name"]


class Store:
    """Any thread. Objects are never changed in place: put() takes ownership of its object."""

    def __init__(self, version: int = 1000):
        self.changed = threading.Condition()
        self.version = version
        self._first = version  # the history begins after this version
        self._changes: deque[Change] = deque()
        self._objects: dict[Resource, dict[str, dict]] = {resource: {} for resource in RESOURCES}
        self._texts: dict[Resource, dict[str, bytes]] = {resource: {} for resource in RESOURCES}
        self._keys: dict[Resource, list[str]] = {resource: [] for resource in RESOURCES}

    def get(self, resource: Resource, key: str) -> dict:
        with self.changed:
            try:
                return self._objects[resource][key]
            except KeyError:
                raise NotFound(f'{resource.plural} "{key}" not found') from None

    def put(self, resource: Resource, item: dict) -> dict:
        with self.changed:
            key = key_of(resource, item)
            known = key in self._objects[resource]
            if not known:
                bisect.insort(self._keys[resource], key)
            self._record(resource, key, "MODIFIED" if known else "ADDED", item)
            return item

    def delete(self, resource: Resource, key: str) -> dict:
        with self.changed:
            item = json.loads(json.dumps(self.get(resource, key)))
            self._record(resource, key, "DELETED", item)
            del self._objects[resource][key], self._texts[resource][key]
            self._keys[resource].pop(bisect.bisect_left(self._keys[resource], key))
            return item

    def _record(self, resource: Resource, key: str, kind: str, item: dict) -> None:
        self.version += 1
        item["metadata"]["resourceVersion"] = str(self.version)
        text = json.dumps(item, separators=(",", ":")).encode()
        self._objects[resource][key], self._texts[resource][key] = item, text
        self._changes.append(Change(self.version, resource, kind, item, text))
        if len(self._changes) > HISTORY:
            self._first = self._changes.popleft().version
        self.changed.notify_all()

    def page(self, resource: Resource, after: str, limit: int, keep) -> tuple[list[bytes], str, int]:
        """Up to `limit` objects behind the key `after`: their texts, the last key if there are more, and how many are left."""
        with self.changed:
            keys = self._keys[resource]
            found: list[bytes] = []
            last = after
            for place in range(bisect.bisect_right(keys, after), len(keys)):
                if limit and len(found) == limit:
                    return found, last, len(keys) - place
                last = keys[place]
                if keep(self._objects[resource][last]):
                    found.append(self._texts[resource][last])
            return found, "", 0

    def forget(self) -> None:
        """Drops the history, as an API server does when it compacts."""
        with self.changed:
            self._changes.clear()
            self._first = self.version
            self.changed.notify_all()

    def changes(self, resource: Resource, since: int, deadline: float) -> tuple[list[Change], int]:
        """Waits for changes of the resource after `since`; returns them, and the version up to which they are complete."""
        with self.changed:
            while True:
                if since < self._first:
                    raise Expired(f"too old resource version: {since} ({self._first})")
                if self.version > since:
                    # The newest changes are at the end, and a watch asks for few.
                    place = len(self._changes)
                    while place > 0 and self._changes[place - 1].version > since:
                        place -= 1
                    new = [self._changes[i] for i in range(place, len(self._changes))
                      if self._changes[i].resource is resource]
                    return new, self.version
                left = deadline - time.monotonic()
                if left <= 0 or not self.changed.wait(left):
                    return [], self.version
