"""Modules' statements about a claim's devices: entries in its status (KEP-4817), files in containers (KEP-5304)."""

import json
from pathlib import Path

import pytest

from changed_release import changed_release, vendor_module
from kubectl import kubectl
from mock import DRIVER as GPU_DRIVER
from mock import allocated, claim, template, use
from mock import request as requested
from scene import Scene, container, pod
from waiting import until

DRIVER = CLASS = "port.mock.cardcage.dev"
FILES = Path("/run/cardcage/metadata")
OPTIONS = {"devices": ["port:2"], "mount_dir": "/var/lib/cardcage/mock-ports", "statements": [
    "condition Ready true Linked the link is up",
    'data {"lanes": 16}',
    "network net1 02:00:00:00:00:01 10.1.2.3/24 2001:DB8::1/64",
    "describe slot a",
]}


def release(**more) -> dict:
    return {"vendorModules": [vendor_module("ports", OPTIONS, drivers=(DRIVER,))], **more}


@pytest.fixture(scope="module")
def ports(cluster, daemon):
    """Adds a module that makes statements about its devices, without the right to write them; removes it afterwards."""
    with changed_release(cluster, daemon, release()):
        until(lambda: daemon.devices(DRIVER), "the ports are published", 20)
        yield


@pytest.fixture(scope="module")
def granted(daemon, ports):
    daemon.apply(release(claimStatus={"enabled": True}))


def user(name: str, *claims: dict) -> dict:
    return pod(name, [container(claims=[{"name": one["name"]} for one in claims])], list(claims))


def entries(scene: Scene, name: str, driver: str = DRIVER) -> list[dict]:
    found = scene.get("resourceclaims", name) or {}
    return [entry for entry in found.get("status", {}).get("devices", []) if entry["driver"] == driver]


def wait_entries(scene: Scene, name: str) -> list[dict]:
    until(lambda: entries(scene, name), f"the status of {name} has an entry", 20)
    return entries(scene, name)


def condition(daemon) -> dict:
    return json.loads(daemon.cagectl("status", "--json"))["claimStatus"]


def objects(stream: str) -> list[dict]:
    decoder, found = json.JSONDecoder(), []
    while stream := stream.lstrip():
        one, end = decoder.raw_decode(stream)
        found.append(one)
        stream = stream[end:]
    return found


def test_a_pod_starts_without_the_right_to_state_anything(scene, daemon, ports, request):
    """The daemon names the missing right, and writes the status as soon as it has the right."""
    scene.apply(claim("port", _port()), user("early", use("port", claim="port")))
    scene.wait_running("early")
    until(lambda: condition(daemon)["state"] == "refused", "the daemon shows that it may not write", 10)
    assert "claimStatus.enabled=true" in condition(daemon)["detail"]
    assert not entries(scene, "port")
    request.getfixturevalue("granted")
    wait_entries(scene, "port")
    until(lambda: condition(daemon)["state"] == "written", "the daemon shows that it is written", 10)


def _port(name: str = "port") -> dict:
    return requested(name, device_class=CLASS)


def test_users_see_the_entry_until_the_claim_is_unprepared(scene, daemon, granted):
    """Another writer's entry stays, though the claim outlives its pod."""
    scene.apply(claim("mixed", _port(), requested("gpu")), user("user", use("mixed", claim="mixed")))
    scene.wait_running("user")
    [entry] = wait_entries(scene, "mixed")
    found = scene.get("resourceclaims", "mixed")
    assert entry["device"] in allocated(found) and entry["device"].startswith("port-")
    [ready] = entry["conditions"]
    assert ready.pop("lastTransitionTime")
    assert ready == {"type": "Ready", "status": "True", "reason": "Linked", "message": "the link is up"}
    assert entry["data"] == {"lanes": 16}
    assert entry["networkData"] == {"interfaceName": "net1", "hardwareAddress": "02:00:00:00:00:01",
                                    "ips": ["10.1.2.3/24", "2001:db8::1/64"]}

    [gpu] = [result for result in found["status"]["allocation"]["devices"]["results"] if result["driver"] == GPU_DRIVER]
    observed = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "mixed"}, "status": {"devices": [
        {**{key: gpu[key] for key in ("driver", "pool", "device")}, "data": {"seen": True}, "conditions": []}]}}
    kubectl("apply", f"--namespace={scene.namespace}", "--server-side", "--subresource=status", "--field-manager=observer",
            "-f", "-", stdin=json.dumps(observed))
    # Reserved for something else, too, the claim stays allocated when its pod ends.
    _patch(scene, "mixed", [{"op": "add", "path": "/status/reservedFor/-", "value": {
        "apiGroup": "example.com", "resource": "things", "name": "keeper", "uid": "1"}}])
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")
    try:
        until(lambda: not entries(scene, "mixed"), "the entry is removed", 20)
        assert allocated(scene.get("resourceclaims", "mixed")), "the claim outlives its pod"
        [kept] = entries(scene, "mixed", GPU_DRIVER)
        assert kept["data"] == {"seen": True}
    finally:
        _patch(scene, "mixed", [{"op": "remove", "path": "/status/reservedFor"}])


def _patch(scene: Scene, name: str, operations: list[dict]) -> None:
    kubectl("patch", "resourceclaim", name, f"--namespace={scene.namespace}", "--subresource=status", "--type=json",
            "-p", json.dumps(operations))


def test_an_entry_outlives_the_daemon(scene, daemon, granted):
    scene.apply(claim("port", _port()), user("user", use("port", claim="port")))
    scene.wait_running("user")
    before = wait_entries(scene, "port")
    daemon.kill()
    until(lambda: condition(daemon)["state"] == "written", "the next daemon has written it again", 20)
    assert entries(scene, "port") == before, "since when a condition holds is known, too"


@pytest.mark.parametrize("kind, path", [("claim", "resourceclaims/ports"), ("template", "resourceclaimtemplates/net")], ids=["claim", "template"])
def test_a_container_finds_its_device(scene, daemon, ports, kind, path):
    made = {"claim": claim, "template": template}[kind]
    scene.apply(made("ports", _port("port")), user("user", use("net", **{kind: "ports"})))
    scene.wait_running("user")
    [found] = scene.items("resourceclaims")
    file = f"/var/run/kubernetes.io/dra-device-attributes/{path}/port/{DRIVER}-metadata.json"
    newest, oldest = objects(scene.execute("user", "cat", file))
    assert [one.pop("apiVersion") for one in (newest, oldest)] == [f"metadata.resource.k8s.io/{version}" for version in ("v1beta1", "v1alpha1")]
    assert newest == oldest and newest["kind"] == "DeviceMetadata"
    assert newest["metadata"] == {key: found["metadata"][key] for key in ("name", "namespace", "uid")} | {"generation": 1}
    assert newest.get("podClaimName") == ("net" if kind == "template" else None)
    [described] = newest["requests"]
    [device] = described["devices"]
    assert described["name"] == "port" and [device["name"]] == allocated(found)
    [published] = [one for one in daemon.devices(DRIVER) if one["name"] == device["name"]]
    assert device["attributes"] == {**published["attributes"], "slot": {"string": "a"}}
    assert "resource.kubernetes.io/pciBusID" in device["attributes"]
    assert device["networkData"]["interfaceName"] == "net1"
    assert scene.execute("user", "sh", "-c", f"echo > {file} || echo refused").strip() == "refused"

    uid = found["metadata"]["uid"]
    assert list(FILES.glob(f"*{uid}"))
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")
    until(lambda: not list(FILES.glob(f"*{uid}")), "the files of the claim are removed", 20)
