"""Claims that are allocated without a scheduler."""

import json

from account import NAMESPACE
from api import RESOURCES, Api
from node import NODE

CLAIMS = f"{RESOURCES}/namespaces/{NAMESPACE}/resourceclaims"


def allocated_claim(api: Api, name: str, driver: str, device: str) -> dict:
    """Creates the claim unless it exists, allocates the device of this node to it, and reserves it for the pod `pod-of-NAME`. Safe to repeat."""
    claim = api.get(f"{CLAIMS}/{name}") or api.create(CLAIMS, {"metadata": {"name": name}, "spec": {"devices": {"requests": [
        {"name": "gpu", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}]}}})
    result = {"request": "gpu", "driver": driver, "pool": NODE, "device": device}
    claim["status"] = {"allocation": {"devices": {"results": [result]}},
                       "reservedFor": [{"resource": "pods", "name": name, "uid": f"pod-of-{name}"}]}
    status, body = api.request("PUT", f"{CLAIMS}/{name}/status", claim)
    assert status == 200, f"allocation of {name}: {status} {body.decode(errors='replace')}"
    return json.loads(body)
