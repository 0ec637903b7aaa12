"""Devices that are made ready before a pod gets them (KEP-5007): the scheduler waits for the module's conditions."""

import json

import pytest

from api import RESOURCES
from binding import ATTACHED, FABRIC, FAILED, SLOW, conditions, fabric_modules, held, results, start, statuses
from changed_release import changed_release
from mock import allocated, assert_given, sees
from scene import Scene
from waiting import until

# The scheduler keeps the device of a pod that was deleted while it waited until the time-out in node.py, and does not
# retry other pods when it gives the device back. So each test of the slow module has a device of its own.


@pytest.fixture(scope="module", autouse=True)
def fabric(cluster, daemon):
    """Adds the two modules and the rights that they need, and removes them afterwards."""
    with changed_release(cluster, daemon, {"vendorModules": fabric_modules(), "bindingConditions": {"enabled": True}}):
        until(lambda: daemon.devices(FABRIC) and daemon.devices(SLOW), "the devices are published", 20)
        yield


@pytest.fixture(autouse=True)
def free(daemon, fabric):
    """Waits until no claim of an earlier test has a device."""
    def holders() -> list[str]:
        claims = daemon.api.items(f"{RESOURCES}/resourceclaims")
        return [found["metadata"]["name"] for found in claims if any(result["driver"] in (FABRIC, SLOW) for result in results(found))]
    until(lambda: not holders() and not held("fabric") and not held("slow"), "the devices are free", 90)


def wait_begun(scene: Scene, name: str, module: str) -> str:
    """Returns the UID of the claim once the module has started to make its device ready."""
    until(lambda: statuses(scene, name).get(ATTACHED) == "False", f"the device of {name} is being attached", 30)
    uid = scene.get("resourceclaims", name)["metadata"]["uid"]
    assert [hold.split("@")[1] for hold in held(module)] == [uid]
    return uid


def state_of(daemon, uid: str) -> str:
    return next(shown["state"] for shown in json.loads(daemon.cagectl("claims", "--json")) if shown["claim"]["uid"] == uid)


def is_pending(scene: Scene, name: str) -> bool:
    return "nodeName" not in scene.get("pods", name)["spec"]


def test_the_conditions_are_published(daemon):
    nics = daemon.devices(SLOW)
    assert len(nics) == 3 and all(nic["bindsToNode"] is True for nic in nics)
    assert all((nic["bindingConditions"], nic["bindingFailureConditions"]) == ([ATTACHED], [FAILED]) for nic in nics)
    for shown in json.loads(daemon.cagectl("devices", "--json", "--driver", SLOW)):
        assert shown["binding"] == {"conditions": [ATTACHED], "failures": [FAILED], "toNode": True}


def test_a_pod_waits_until_its_device_is_ready(scene, daemon):
    start(scene, "patient", FABRIC, cel=f"device.attributes['{FABRIC}'].index == 1")
    uid = wait_begun(scene, "patient", "fabric")
    assert is_pending(scene, "patient")
    assert conditions(scene, "patient")[ATTACHED]["reason"] == "Attaching"
    assert daemon.cdi_files(uid) == []
    assert state_of(daemon, uid) == "binding"

    scene.wait_running("patient", seconds=60)
    assert statuses(scene, "patient") == {ATTACHED: "True", FAILED: "False"}
    [result] = results(scene.get("resourceclaims", "patient"))
    assert result["device"] == "gpu-1" and result["bindingConditions"] == [ATTACHED]
    assert_given(scene, daemon, uid, "patient")
    assert "MOCK_GPU_1_BOUND=1" in sees(scene, "patient")["env"], "the module was asked to bind before it prepared"
    scene.delete("pods", "patient")
    scene.wait_gone("pods", "patient")
    until(lambda: not held("fabric"), "the device is released", 20)


def test_a_claim_that_is_given_up_is_released(scene, daemon):
    """The pod is deleted while it waits: its claim is never prepared, so no kubelet unprepares it."""
    start(scene, "impatient", SLOW)
    wait_begun(scene, "impatient", "slow")
    scene.delete("pods", "impatient")
    scene.wait_gone("pods", "impatient")
    until(lambda: not held("slow"), "the module has released the device", 30)
    until(lambda: not json.loads(daemon.cagectl("claims", "--json")), "the daemon has forgotten the claim", 10)


def test_a_claim_that_waits_outlives_the_daemon(scene, daemon):
    start(scene, "survivor", SLOW)
    uid = wait_begun(scene, "survivor", "slow")
    daemon.kill()
    assert state_of(daemon, uid) == "binding"
    assert [hold.split("@")[1] for hold in held("slow")] == [uid]

    # A device that the daemon began to attach before its end is released afterwards.
    scene.delete("pods", "survivor")
    scene.wait_gone("pods", "survivor")
    until(lambda: not held("slow"), "the module has released the device", 30)


def test_the_scheduler_gives_up_and_tries_again(scene):
    """After its bindingTimeout, see node.py, the scheduler deallocates the device and starts again."""
    start(scene, "hopeless", SLOW)
    wait_begun(scene, "hopeless", "slow")
    first = scene.get("resourceclaims", "hopeless")["status"]["allocation"]["allocationTimestamp"]
    until(lambda: any("binding timeout" in text for text in scene.events("FailedScheduling", "hopeless")),
          "the scheduler gives up", 60)

    def again() -> bool:
        allocation = scene.get("resourceclaims", "hopeless")["status"].get("allocation", {})
        return allocation.get("allocationTimestamp", first) != first and len(held("slow")) == 1
    until(again, "the device is allocated and bound again", 90)
    scene.delete("pods", "hopeless")
    scene.wait_gone("pods", "hopeless")
    until(lambda: not held("slow"), "the module has released the device", 30)


def test_a_failure_makes_the_scheduler_choose_another_device(scene, daemon):
    """The first device cannot be attached. Its module taints it, so the scheduler does not choose it again."""
    start(scene, "lucky", FABRIC)
    until(lambda: allocated(scene.get("resourceclaims", "lucky")) == ["gpu-0"], "the first device is allocated", 20)
    until(lambda: statuses(scene, "lucky").get(FAILED) == "True", "the module states the failure", 20)
    assert conditions(scene, "lucky")[FAILED]["message"] == "the fabric has no path to this device"
    scene.wait_running("lucky", seconds=120)
    assert allocated(scene.get("resourceclaims", "lucky")) == ["gpu-1"]
    uid = scene.get("resourceclaims", "lucky")["metadata"]["uid"]
    assert held("fabric") == [f"gpu-1@{uid}"], "gpu-0 is released"
    assert_given(scene, daemon, uid, "lucky")
