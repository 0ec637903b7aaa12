"""The errors that users see, and the health of devices."""

import time

from mock import BROKEN_CLASS, DRIVER, PARAMETERS, allocated, cdi_edits, claim, request, tell, use
from scene import container, pod
from waiting import until


def test_claim_that_cannot_be_prepared_says_why(scene, daemon):
    scene.apply(claim("bad", parameters={"noSuchOption": 1, **PARAMETERS}),
                pod("user", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="bad")]))
    [text, *_] = until(lambda: scene.events("FailedPrepareDynamicResources", "user"), "the event about the claim", 30)
    assert "bad" in text and "noSuchOption" in text and "mock" in text, text
    uid = scene.get("resourceclaims", "bad")["metadata"]["uid"]
    assert [line for line in daemon.log() if uid in line and "prepare failed" in line and "noSuchOption" in line]
    assert not daemon.cdi_files(uid)
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")


def test_device_that_fails_prepare_says_why(scene, daemon):
    scene.apply(claim("broken", request(device_class=BROKEN_CLASS)),
                pod("user", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="broken")]))
    [text, *_] = until(lambda: scene.events("FailedPrepareDynamicResources", "user"), "the event about the claim", 30)
    assert "broken" in text and "nic-0" in text and "the link is down" in text, text
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")


def test_health_is_in_the_pod_status(scene, daemon):
    scene.apply(claim("well"), pod("user", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="well")]))
    scene.wait_running("user")
    uid = scene.get("resourceclaims", "well")["metadata"]["uid"]

    name, device = scene.wait_health("user", "Healthy")
    assert name.split("/")[0] == "claim:gpu"
    assert device["resourceID"] in cdi_edits(daemon, uid), "the id must be unique: the kubelet merges devices with the same first id"


def test_device_goes_bad_and_recovers(scene, daemon, measured):
    """The status of a running pod shows it, and a taint keeps new pods away."""
    scene.apply(claim("sick"), pod("user", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="sick")]))
    scene.wait_running("user")
    [device] = allocated(scene.get("resourceclaims", "sick"))
    scene.wait_health("user", "Healthy")

    def taints() -> list[dict]:
        [found] = [each for each in daemon.devices(DRIVER) if each["name"] == device]
        return found.get("taints", [])

    started = time.monotonic()
    tell(f"health {device} bad XidError the bus fell off")
    until(taints, "a taint on the device", 10, every=0.02)
    measured(f"device goes bad: taint in its slice after {time.monotonic() - started:.2f} s")
    _, seen = scene.wait_health("user", "Unhealthy")
    measured(f"device goes bad: in the pod's status after {time.monotonic() - started:.2f} s")
    assert "the bus fell off" in seen.get("message", ""), seen
    assert [line for line in daemon.log() if "device is unhealthy" in line and f"device={device}" in line and "XidError" in line]
    assert scene.get("pods", "user")["status"]["phase"] == "Running", "NoSchedule does not evict"
    tell(f"health {device} ok")
    until(lambda: not taints(), "the taint is gone", 10)
    scene.wait_health("user", "Healthy")


def test_device_is_unplugged_and_comes_back(daemon):
    names = {device["name"] for device in daemon.devices(DRIVER)}
    tell("remove gpu-23")
    until(lambda: {device["name"] for device in daemon.devices(DRIVER)} == names - {"gpu-23"}, "the device is gone", 10)
    tell("add gpu-23")
    until(lambda: {device["name"] for device in daemon.devices(DRIVER)} == names, "the device is back", 10)
