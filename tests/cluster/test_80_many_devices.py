"""One resource with as many devices as a node may have: the kubelet accepts lists of at most 4 MiB."""

import time

import pytest

from changed_release import changed_release, vendor_module
from mock import assert_given, claim, use
from resources import FPGA, held, told, wait_allocatable, wait_listed
from scene import container, pod

LANE = "mock.cardcage.dev/lane"
MANY = 10_000


@pytest.fixture(scope="module")
def many(cluster, daemon, measured):
    """Adds a module with many devices, and removes it afterwards."""
    started = time.time()
    try:
        with changed_release(cluster, daemon, {"vendorModules": [vendor_module("lanes", {"devices": [f"lane:{MANY}"]}, resources=(LANE,))]}):
            moment = wait_listed(started, {LANE: MANY})
            measured(f"{MANY} devices on one resource: the kubelet has them {moment - started:.1f} s after `helm upgrade`")
            wait_allocatable(cluster.api, {LANE: MANY})
            yield
    finally:
        wait_allocatable(cluster.api, {LANE: 0})


def test_many_devices(scene, daemon, many):
    """The other modules are served as before."""
    scene.apply(claim("gpu"), pod("some", [container(claims=[{"name": "gpu"}], limits={LANE: 64, FPGA: 1})], [use("gpu", claim="gpu")]),
                pod("one", [container(limits={LANE: 1})]))
    scene.wait_running("some", "one")
    devices = [told(set(scene.execute(name, "env").splitlines()), LANE) for name in ("some", "one")]
    assert [len(each) for each in devices] == [64, 1] and not devices[0] & devices[1]
    assert len(held(scene, "some", FPGA)) == 1
    assert_given(scene, daemon, scene.get("resourceclaims", "gpu")["metadata"]["uid"], "some")
    scene.delete("pods", "some", "one")
    scene.wait_gone("pods", "some", "one")
