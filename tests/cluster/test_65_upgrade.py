"""The daemon is upgraded while pods keep coming."""

import contextlib
import time

import pytest

from daemon import NEXT_IMAGE, SOURCE
from mock import template
from resources import FPGA, wait_allocatable
from stream import Stream


@pytest.fixture
def upgrade(cluster, daemon):
    """What to call for the upgrade; the shipped daemon is back afterwards."""
    yield daemon.upgrade
    daemon.apply(SOURCE)
    wait_allocatable(cluster.api)


@pytest.mark.parametrize("kind", ["claims", "resources"])
def test_upgrade_under_a_stream_of_pods(cluster, scene, daemon, upgrade, measured, kind):
    scene.apply(template("one"))
    wait_allocatable(cluster.api, seconds=30)
    # Slow enough that a device is always free: pods that wait for one would be spared.
    source = {"template": "one", "kind": "gpu"} if kind == "claims" else {"resource": FPGA, "every": 0.5}
    with Stream(scene, **source) as stream:
        time.sleep(1)
        upgrade()
        time.sleep(3)
    lost = stream.lost()
    measured(f"upgrade while pods with {kind} come: {len(lost)} of {len(stream.names)} lost")
    with contextlib.suppress(StopIteration):
        pod = next(pod for pod in daemon.pods() if "deletionTimestamp" not in pod["metadata"])
        assert pod["spec"]["containers"][0]["image"] == NEXT_IMAGE
    # For a moment nobody serves the node (docs/decisions/0009). What the kubelet admits in it is rejected.
    rejected = [text for text in lost if "UnexpectedAdmissionError" in text] if kind == "resources" else []
    assert lost == rejected and len(rejected) <= 2
