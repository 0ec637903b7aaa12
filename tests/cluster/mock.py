"""What the mock module offers, and what a container must see of it.

The second is read from the CDI files, the only thing that the runtime gets: so the tests hold for whatever edits the
module asks for, as long as there is one of each kind.
"""

import json
import os

from daemon import STATE, Daemon
from scene import Scene

DRIVER = "gpu.mock.cardcage.dev"
CLASS = DRIVER
PARAMETERS = {"apiVersion": "mock.cardcage.dev/v1alpha1", "kind": "DeviceConfig"}
SCRIPT = STATE / "mock-script"
BROKEN_DRIVER = BROKEN_CLASS = "nic.mock.cardcage.dev"  # its one device fails every prepare, see manifests/cardcage.toml


def tell(line: str) -> None:
    """Makes something happen to the pretended hardware: "health gpu-1 bad XidError text", "remove gpu-1", ..."""
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
    """The names of the devices that a claim was allocated."""
    results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])
    return [result["device"] for result in results]


def cdi_edits(daemon: Daemon, claim_uid: str) -> dict[str, dict]:
    """Fully qualified CDI id -> container edits, of one claim."""
    edits = {}
    for path in daemon.cdi_files(claim_uid):
        spec = json.loads(path.read_text())
        for device in spec["devices"]:
            edits[f"{spec['kind']}={device['name']}"] = device["containerEdits"]
    return edits


def sees(scene: Scene, pod: str, container: str = "") -> dict:
    """What a container sees: its environment, the device nodes in its /dev with their numbers, its mount points."""
    script = ("env; echo ---; find /dev -type c -o -type b | while read p; do stat -c '%n %t:%T' $p; done;"
              " echo ---; cut -d' ' -f2 /proc/mounts")
    environment, nodes, mounts = scene.execute(pod, "sh", "-c", script, container=container).split("---\n")
    return {"env": set(environment.splitlines()), "nodes": dict(line.split() for line in nodes.splitlines()),
            "mounts": set(mounts.splitlines())}


def assert_given(scene: Scene, daemon: Daemon, claim_uid: str, pod: str, container: str = "") -> set[str]:
    """That a container sees all that the CDI files of the claim promise, and that they promise something of each kind.

    Returns the environment that the claim gave, which tells devices apart.
    """
    edits = cdi_edits(daemon, claim_uid)
    assert edits, f"no CDI file for claim {claim_uid}"
    seen = sees(scene, pod, container)
    env = {entry for each in edits.values() for entry in each.get("env", [])}
    nodes = [node for each in edits.values() for node in each.get("deviceNodes", [])]
    mounts = {mount["containerPath"] for each in edits.values() for mount in each.get("mounts", [])}
    assert env and nodes and mounts, f"the module asked for too little to test: {edits}"
    assert env <= seen["env"], f"missing in {pod}/{container}: {env - seen['env']}"
    assert mounts <= seen["mounts"], f"missing in {pod}/{container}: {mounts - seen['mounts']}"
    for node in nodes:
        assert node["path"] in seen["nodes"], f"{pod}/{container} has no {node['path']}, but {sorted(seen['nodes'])}"
        there = os.stat(node.get("hostPath", node["path"])).st_rdev
        assert seen["nodes"][node["path"]] == f"{os.major(there):x}:{os.minor(there):x}", f"{node['path']} is another device"
    return env


def assert_not_given(scene: Scene, env: set[str], pod: str, container: str) -> None:
    assert not env & sees(scene, pod, container)["env"], f"{pod}/{container} got a device that it has no claim to"
