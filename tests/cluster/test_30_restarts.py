"""Kubelet and daemon restart while pods run: no claim is lost, and every pod can end."""

import json
import os
import re
import subprocess
import time

import pytest

from daemon import build_folder
from mock import DRIVER, assert_given, claim, use
from node import KUBELET_ROOT
from scene import container, pod
from waiting import on_this_machine, until


@pytest.fixture
def running(scene, daemon):
    """A running pod with a claim."""
    scene.apply(claim("held"), pod("user", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="held")]))
    scene.wait_running("user")
    uid = scene.get("resourceclaims", "held")["metadata"]["uid"]
    assert_given(scene, daemon, uid, "user")
    return uid


def start_of(scene) -> tuple:
    """Changes if the container restarts."""
    status = scene.get("pods", "user")["status"]["containerStatuses"][0]
    return status["containerID"], status["restartCount"]


def assert_ends_clean(scene, daemon, uid, seconds: float = 40) -> None:
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user", seconds=seconds)
    until(lambda: not daemon.cdi_files(uid), "the CDI files are gone", 10)
    assert uid not in daemon.cagectl("claims")
    assert uid in daemon.cagectl("history")


def test_kubelet_restart_with_a_running_pod(cluster, scene, daemon, running, measured):
    before = start_of(scene)
    old = {item["metadata"]["uid"] for item in daemon.slices(DRIVER)}
    started = cluster.restart_kubelet()
    # The kubelet deletes the slices of its node when it starts.
    until(lambda: not old & {item["metadata"]["uid"] for item in daemon.slices(DRIVER)}, "the kubelet wiped the slices", 30, every=0.02)
    wiped = time.monotonic()
    until(lambda: daemon.devices(DRIVER), "the slices are back", 20, every=0.02)
    measured(f"kubelet restart: slices wiped {wiped - started:.2f} s after its start, back {time.monotonic() - wiped:.2f} s later")
    assert time.monotonic() - wiped < on_this_machine(5)
    assert len(daemon.devices(DRIVER)) == 24
    scene.apply(claim("later"), pod("second", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="later")]))
    scene.wait_running("second", seconds=40)
    assert start_of(scene) == before
    assert_given(scene, daemon, running, "user")
    assert_ends_clean(scene, daemon, running)


def test_daemon_killed_with_a_running_pod(scene, daemon, running, measured):
    before = start_of(scene)
    killed = time.monotonic()
    daemon.kill()
    measured(f"daemon killed: registered again after {time.monotonic() - killed:.1f} s")
    status = json.loads(daemon.cagectl("status", "--json"))
    assert status["restarts"] >= 1 and status["lastEnd"] == "was killed by signal 9 (Killed)"
    assert running in daemon.cagectl("claims"), "the new daemon knows the claim that the old one prepared"
    assert start_of(scene) == before
    assert_given(scene, daemon, running, "user")
    assert_ends_clean(scene, daemon, running)


def test_daemon_absent_at_unprepare(scene, daemon, running):
    """The pod stays Terminating, which protects its device, and ends when the daemon is back."""
    daemon.scale_to_nothing()
    try:
        scene.delete("pods", "user")
        until(lambda: scene.events("FailedUnprepareDynamicResources", "user") or terminated(scene), "the container has ended", 15)
        time.sleep(3)  # a pod that does not wait would be gone then
        assert scene.get("pods", "user"), "the pod ended although its claim could not be unprepared"
        assert daemon.cdi_files(running)
    finally:
        daemon.scale_back()
    scene.wait_gone("pods", "user", seconds=90)
    until(lambda: not daemon.cdi_files(running), "the CDI files are gone", 10)
    assert running in daemon.cagectl("history")


def terminated(scene) -> bool:
    found = scene.get("pods", "user")
    return bool(found and "terminated" in found["status"]["containerStatuses"][0]["state"])


def test_daemon_pod_is_replaced_with_a_running_pod(scene, daemon, running):
    before = start_of(scene)
    slices = {item["metadata"]["uid"] for item in daemon.slices(DRIVER)}
    daemon.replace_pod()
    assert slices == {item["metadata"]["uid"] for item in daemon.slices(DRIVER)}, "a new daemon keeps the slices unchanged"
    assert start_of(scene) == before
    scene.apply(claim("later"), pod("second", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="later")]))
    scene.wait_running("second", seconds=40)
    assert_given(scene, daemon, running, "user")
    assert_ends_clean(scene, daemon, running)


def test_edit_of_the_configuration(scene, daemon, running):
    """A running daemon applies changed values of the chart."""
    before, daemons = start_of(scene), daemon.process_ids()
    try:
        daemon.apply_running({"modules": {"mock": {"options": {"devices": ["gpu:25"]}}}})
        until(lambda: len(daemon.devices(DRIVER)) == 25, "the slices have the new device", 10)
        assert daemon.process_ids() == daemons
        assert start_of(scene) == before
        assert_given(scene, daemon, running, "user")
        assert running in daemon.cagectl("claims")
    finally:
        daemon.apply_running()
    until(lambda: len(daemon.devices(DRIVER)) == 24, "the slices are as before", 10)
    assert_ends_clean(scene, daemon, running)


def test_kubelet_forgets_a_claim(cluster, scene, daemon, running):
    """After `kubeadm reset` no kubelet will ever unprepare the claim: an operator forgets it."""
    read_checkpoint = build_folder() / "bin" / "api_client_test"
    subprocess.run([read_checkpoint, "--gtest_filter=RealClaimCheckpointTest.*"], check=True, timeout=30,
                   env={**os.environ, "CARDCAGE_CLUSTER_KUBELET_ROOT": str(KUBELET_ROOT), "CARDCAGE_CLUSTER_CLAIM_UID": running})

    def lose_state():
        cluster.api.delete(scene.path("pods", "user"), grace_seconds=0)
        scene.delete("resourceclaims", "held")
        scene.wait_gone("resourceclaims", "held")
        (KUBELET_ROOT / "dra_manager_state").unlink()

    cluster.restart_kubelet(meanwhile=lose_state)
    # The kubelet refuses exec for a moment after its start.
    until(lambda: running in daemon.cagectl("claims"), "the daemon still has the claim", 30)
    assert "With --force" in daemon.cagectl("claims", "forget", running)
    assert daemon.cdi_files(running)
    assert daemon.cagectl("claims", "forget", running, "--force").endswith("forgotten\n")
    assert not daemon.cdi_files(running)
    assert running not in daemon.cagectl("claims")
    assert running in daemon.cagectl("history")


def test_slices_deleted_by_somebody(cluster, scene, daemon, measured):
    until(lambda: daemon.devices(DRIVER), "slices of the driver", 10)
    for item in daemon.slices(DRIVER):
        cluster.api.delete(f"/apis/resource.k8s.io/v1/resourceslices/{item['metadata']['name']}")
    deleted = time.monotonic()
    until(lambda: len(daemon.devices(DRIVER)) == 24, "the slices are back", 10, every=0.02)
    measured(f"slices deleted: back after {time.monotonic() - deleted:.2f} s")


def test_a_worker_has_a_control_group(daemon):
    """A privileged container may make control groups, so processes that a module forks end with its worker."""
    [worker] = daemon.process_ids("cardcage-worker")
    with open(f"/proc/{worker}/cgroup") as groups:
        assert re.search(r"/cardcage-[0-9a-f]{8}\.mock\.\d+$", groups.read(), re.MULTILINE)
