"""The devices of the mock module, and a container's view of them.

The tests compare a container with the CDI files, which are all that the runtime gets. They hold for any edits of the
module, as long as there is one of each kind.
"""

import json
import os

from daemon import STATE, Daemon
from scene import Scene

DRIVER = "gpu.mock.cardcage.dev"
CLASS = DRIVER
PARAMETERS = {"apiVersion": "mock.cardcage.dev/v1alpha1", "kind": "DeviceConfig"}
SCRIPT = STATE / "mock-script"
BROKEN_DRIVER = BROKEN_CLASS = "nic.mock.cardcage.dev"  # its one device fails every prepare, see values.yaml


def tell(line: str) -> None:
    """Changes the simulated hardware: "health gpu-1 bad XidError text", "remove gpu-1", ..."""
    with SCRIPT.open("a") as script:
        script.write(line + "\n")


def request(name: str = "gpu", count: int = 1, cel: str = "", device_class: str = CLASS) -> dict:
    exactly = {"deviceClassName": device_class, "count": count}
    if cel:
        exactly["selectors"] = [{"cel": {"expression": cel}}]
    return {"name": name, "exactly": exactly}


def claim_spec(*requests: dict, parameters: dict | None = None) -> dict:
    devices: dict = {"requests": list(requests) or [request()]}
    if parameters is not None:
        devices["config"] = [{"opaque": {"driver": DRIVER, "parameters": parameters}}]
    return {"devices": devices}


def claim(name: str, *requests: dict, parameters: dict | None = None) -> dict:
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name},
            "spec": claim_spec(*requests, parameters=parameters)}


def template(name: str, *requests: dict) -> dict:
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": name},
            "spec": {"spec": claim_spec(*requests)}}


def use(name: str, claim: str = "", template: str = "") -> dict:
    """An entry of a pod's resourceClaims."""
    return {"name": name, **({"resourceClaimName": claim} if claim else {"resourceClaimTemplateName": template})}


def allocated(claim: dict) -> list[str]:
    """The names of the devices allocated to a claim."""
    results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])
    return [result["device"] for result in results]


def cdi_edits(daemon: Daemon, claim_uid: str) -> dict[str, dict]:
    """Maps each fully qualified CDI id of a claim to its container edits."""
    edits = {}
    for path in daemon.cdi_files(claim_uid):
        spec = json.loads(path.read_text())
        for device in spec["devices"]:
            edits[f"{spec['kind']}={device['name']}"] = device["containerEdits"]
    return edits


def sees(scene: Scene, pod: str, container: str = "") -> dict:
    """A container's view: its environment, the device nodes in its /dev with their numbers, its mount points."""
    script = ("env; echo ---; find /dev -type c -o -type b | while read p; do stat -c '%n %t:%T' $p; done;"
              " echo ---; cut -d' ' -f2 /proc/mounts")
    environment, nodes, mounts = scene.execute(pod, "sh", "-c", script, container=container).split("---\n")
    return {"env": set(environment.splitlines()), "nodes": dict(line.split() for line in nodes.splitlines()),
            "mounts": set(mounts.splitlines())}


def assert_given(scene: Scene, daemon: Daemon, claim_uid: str, pod: str, container: str = "") -> set[str]:
    """Asserts that a container sees every edit in the CDI files of the claim, and that there are edits of each kind.

    Returns the environment that the claim adds, which identifies its devices.
    """
    edits = cdi_edits(daemon, claim_uid)
    assert edits, f"no CDI file for claim {claim_uid}"
    seen = sees(scene, pod, container)
    env = {entry for each in edits.values() for entry in each.get("env", [])}
    nodes = [node for each in edits.values() for node in each.get("deviceNodes", [])]
    mounts = {mount["containerPath"] for each in edits.values() for mount in each.get("mounts", [])}
    assert env and nodes and mounts, f"too few kinds of edits to test: {edits}"
    assert env <= seen["env"], f"missing in {pod}/{container}: {env - seen['env']}"
    assert mounts <= seen["mounts"], f"missing in {pod}/{container}: {mounts - seen['mounts']}"
    for node in nodes:
        assert node["path"] in seen["nodes"], f"{pod}/{container} has no {node['path']}, but {sorted(seen['nodes'])}"
        there = os.stat(node.get("hostPath", node["path"])).st_rdev
        assert seen["nodes"][node["path"]] == f"{os.major(there):x}:{os.minor(there):x}", f"{node['path']} is another device"
    return env


def assert_not_given(scene: Scene, env: set[str], pod: str, container: str) -> None:
    assert not env & sees(scene, pod, container)["env"], f"{pod}/{container} has a device without a claim to it"
