"""One resource with as many devices as a node may have: the kubelet accepts lists of at most 4 MiB."""

import json
import shutil
import time

import pytest

from daemon import SOURCE
from mock import assert_given, claim, use
from resources import FPGA, held, told, wait_allocatable, wait_listed
from scene import container, pod
from waiting import until

LANE = "mock.cardcage.dev/lane"
MANY = 10_000


@pytest.fixture(scope="module")
def many(cluster, daemon, tmp_path_factory, measured):
    """Adds a module with many devices, and removes it afterwards."""
    source = tmp_path_factory.mktemp("many")
    for folder in ("config/kubernetes", "tests/cluster/manifests"):
        shutil.copytree(SOURCE / folder, source / folder)
    with (source / "tests/cluster/manifests/cardcage.toml").open("a") as file:
        file.write(f"""
[[module]]
name = "lanes"
path = "libcardcage_mock.so"
[module.options]
devices = ["lane:{MANY}"]
[[module.serve]]
api = "device-plugin"
resource = "{LANE}"
""")
    started = time.time()
    try:
        daemon.apply(source)
        moment = wait_listed(started, {LANE: MANY})
        measured(f"{MANY} devices on one resource: the kubelet has them {moment - started:.1f} s after `kubectl apply`")
        wait_allocatable(cluster.api, {LANE: MANY})
        yield
    finally:
        try:
            # Only the module itself can release its devices.
            until(lambda: not json.loads(daemon.cagectl("claims", "--json")), "all devices are released", 60)
        finally:
            daemon.apply(SOURCE)
            wait_allocatable(cluster.api)
            wait_allocatable(cluster.api, {LANE: 0})


def test_many_devices(scene, daemon, many):
    """Everything else is served as before."""
    scene.apply(claim("gpu"), pod("some", [container(claims=[{"name": "gpu"}], limits={LANE: 64, FPGA: 1})], [use("gpu", claim="gpu")]),
                pod("one", [container(limits={LANE: 1})]))
    scene.wait_running("some", "one")
    devices = [told(set(scene.execute(name, "env").splitlines()), LANE) for name in ("some", "one")]
    assert [len(each) for each in devices] == [64, 1] and not devices[0] & devices[1]
    assert len(held(scene, "some", FPGA)) == 1
    assert_given(scene, daemon, scene.get("resourceclaims", "gpu")["metadata"]["uid"], "some")
    scene.delete("pods", "some", "one")
    scene.wait_gone("pods", "some", "one")
