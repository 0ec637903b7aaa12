"""The release is upgraded and rolled back while new pods keep starting."""

import time

import pytest

from daemon import NEXT_TAG
from losses import losses
from mock import template
from resources import FPGA, wait_allocatable
from stream import Stream
from waiting import on_this_machine


@pytest.fixture
def upgrade(cluster, daemon):
    """The function that upgrades the daemon. The shipped daemon is restored afterwards."""
    yield daemon.upgrade
    daemon.apply()
    wait_allocatable(cluster.api)


def image(daemon) -> str:
    return next(pod for pod in daemon.pods() if "deletionTimestamp" not in pod["metadata"])["spec"]["containers"][0]["image"]


@pytest.mark.parametrize("kind", ["claims", "resources"])
def test_upgrade_and_rollback_under_a_stream_of_pods(cluster, scene, daemon, upgrade, measured, kind):
    scene.apply(template("one"))
    wait_allocatable(cluster.api, seconds=30)
    # The stream is slow, so a device is always free: a pod that waits for a device would miss the gap between two
    # daemons.
    source = {"template": "one", "kind": "gpu"} if kind == "claims" else {"resource": FPGA, "every": 0.5}
    handovers = []

    def hand_over(change):
        begun = time.time()
        change()
        handovers.append((begun, time.time()))

    with Stream(scene, **source) as stream:
        time.sleep(1)
        hand_over(upgrade)
        assert image(daemon).endswith(f":{NEXT_TAG}")
        time.sleep(2)
        hand_over(daemon.roll_back)
        assert not image(daemon).endswith(f":{NEXT_TAG}")
        time.sleep(3)
    lost = losses(scene, stream)
    measured(f"upgrade and rollback under a stream of pods with {kind}: {len(lost)} of {len(stream.names)} lost")
    failed = scene.items("events", fieldSelector="reason=FailedPrepareDynamicResources")
    assert not failed, [event["message"] for event in failed]
    if kind == "claims":
        assert not lost
    # No daemon serves resources for a moment, and the kubelet rejects the pods that it admits then; see
    # docs/decisions/0009-upgrades-one-after-the-other.md. The moment is a tenth of a second on an idle machine.
    gaps = [[loss for loss in lost if loss.rejected and begun - 1 < loss.moment < ended] for begun, ended in handovers]
    assert sum(len(gap) for gap in gaps) == len(lost), [loss.complaint for loss in lost]
    for gap in gaps:
        moments = [loss.moment for loss in gap]
        assert not moments or max(moments) - min(moments) <= on_this_machine(3), [f"{loss.moment}: {loss.complaint}" for loss in gap]
