"""Only claims that no kubelet will unprepare are released: a process may still use the device of any other. The
daemon of these tests looks every second."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from audit import requests
from daemon import Daemon
from mock import assert_given, claim, template, use
from node import KUBELET_ROOT
from scene import container, pod
from waiting import until

LOOKS = 5  # seconds until an orphan is found and released


@pytest.fixture(scope="module")
def impatient(daemon) -> Iterator[Daemon]:
    daemon.upgrade("impatient", "impatient_cardcage")
    yield daemon
    daemon.apply()


def shim_of(pod_name: str) -> int:
    """The process of the runtime that is the parent of the pod's container."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if not entry.name.isdigit() or f"HOSTNAME={pod_name}".encode() not in (entry / "environ").read_bytes().split(b"\0"):
                continue
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if "shim" in (Path("/proc") / str(parent) / "comm").read_text():
                return parent
    raise AssertionError(f"no container of pod {pod_name} runs")


def claim_reads() -> int:
    return sum(event["verb"] == "get" and event.get("objectRef", {}).get("resource") == "resourceclaims" for event in requests())


def test_pod_that_cannot_end_is_deleted_by_force(cluster, scene, impatient):
    """The state that a process stuck in a driver leaves: the API server has neither the pod nor its claim, the node has both."""
    scene.apply(template("one"), pod("hung", [container(claims=[{"name": "gpu"}])], [use("gpu", template="one")]))
    scene.wait_running("hung")
    [held] = scene.items("resourceclaims")
    uid = held["metadata"]["uid"]
    time.sleep(1)  # the API server writes its audit log a moment after it responds
    reads, shim = claim_reads(), shim_of("hung")
    os.kill(shim, signal.SIGSTOP)  # the container cannot end now
    try:
        cluster.api.delete(scene.path("pods", "hung"), grace_seconds=0)
        scene.wait_gone("resourceclaims", held["metadata"]["name"])
        time.sleep(LOOKS)
        assert uid in impatient.cagectl("claims"), "the device was released beside a process that uses it"
        assert impatient.cdi_files(uid)
        assert claim_reads() == reads, "the kubelet knows the claim, so the API server need not be asked"
    finally:
        os.kill(shim, signal.SIGCONT)
    until(lambda: not impatient.cdi_files(uid), "the kubelet unprepares the claim once the pod has ended", 150)


def test_orphan_is_released(cluster, scene, impatient):
    """The state after `kubeadm reset`, which leaves a kubelet without its state."""
    scene.apply(claim("held"), pod("user", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="held")]))
    scene.wait_running("user")
    uid = scene.get("resourceclaims", "held")["metadata"]["uid"]
    assert_given(scene, impatient, uid, "user")

    def lose_state():
        cluster.api.delete(scene.path("pods", "user"), grace_seconds=0)
        scene.delete("resourceclaims", "held")
        scene.wait_gone("resourceclaims", "held")
        (KUBELET_ROOT / "dra_manager_state").unlink()

    cluster.restart_kubelet(meanwhile=lose_state)
    until(lambda: not impatient.cdi_files(uid), "the orphan is released", 30)
    assert any("released a claim that the kubelet does not know any more" in line for line in impatient.log())


def test_volumes_of_pods_are_not_kept_mounted(scene, daemon):
    """The daemon sees the kubelet's folder and the mounts below it, and must not keep them busy."""
    scene.apply(pod("user", [container(volumeMounts=[{"name": "memory", "mountPath": "/memory"}])],
                    volumes=[{"name": "memory", "emptyDir": {"medium": "Memory"}}]))
    scene.wait_running("user")
    uid = scene.get("pods", "user")["metadata"]["uid"]
    daemon.replace_pod()

    def mounts() -> str:
        [pid] = daemon.process_ids()
        return (Path("/proc") / str(pid) / "mountinfo").read_text()

    assert uid in mounts()
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")
    until(lambda: uid not in mounts(), "the daemon has no mount of the pod that is gone", 20)
