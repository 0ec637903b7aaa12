"""Health that heals: from a statement of a module to pod status, taint, Event and metric, and back without a restart."""

import json
import os
import signal
import time

import pytest

from kubectl import kubectl
from mock import DRIVER, allocated, claim, request, tell, use
from resources import FPGA, allocatable, wait_allocatable
from scene import container, pod
from waiting import until

HOT, COOL = "cause=Temperature value=97", "cause=Temperature value=85"


def taints(daemon, device: str) -> list[dict]:
    [found] = [each for each in daemon.devices(DRIVER) if each["name"] == device]
    return found.get("taints", [])


def history(daemon, device: str) -> list[dict]:
    return json.loads(daemon.cagectl("health", "--json", device))["events"]


def toleration(effect: str) -> list[dict]:
    return [{"operator": "Exists", "effect": effect}]


def running_with_gpu(scene, name: str, tolerations: list[dict] | None = None, cel: str = "") -> str:
    """Starts a pod with a GPU of its own; returns the name of the device."""
    wanted = request(cel=cel)
    if tolerations:
        wanted["exactly"]["tolerations"] = tolerations
    scene.apply(claim(name, wanted), pod(name, [container(claims=[{"name": "gpu"}])], [use("gpu", claim=name)]))
    scene.wait_running(name)
    [device] = allocated(scene.get("resourceclaims", name))
    return device


@pytest.fixture(autouse=True)
def healthy_again():
    yield
    for number in range(24):
        tell(f"health gpu-{number} ok")
        tell(f"health gpu-{number} ok cause=Link")
        tell(f"health gpu-{number} ok cause=Ecc")  # a reset has ended it, but the next instance of the mock starts with it
        tell(f"health gpu-{number} ok {COOL}")


def test_xid_reaches_everybody_and_heals_by_itself(scene, daemon, measured):
    """The mock's cause Xid is an event without an end: it recovers after 10 s of silence."""
    device = running_with_gpu(scene, "user")
    scene.wait_health("user", "Healthy")
    restarts = scene.get("pods", "user")["status"]["containerStatuses"][0]["restartCount"]
    daemons = daemon.process_ids()

    started = time.monotonic()
    tell(f"health {device} bad cause=Xid Xid79 the GPU has fallen off the bus")
    until(lambda: taints(daemon, device), "a taint on the device", 10, every=0.02)
    measured(f"Xid: taint in its slice after {time.monotonic() - started:.2f} s")
    _, seen = scene.wait_health("user", "Unhealthy")
    assert seen["message"] == "Xid79: the GPU has fallen off the bus", seen
    assert daemon.live_causes(device)["Xid"]["reason"] == "Xid79"
    assert daemon.metric("cardcage_device_cause", device=device, cause="Xid") == 1
    until(lambda: daemon.node_events("DeviceUnhealthy", device), "an Event on the node", 10)

    until(lambda: not taints(daemon, device), "the taint is gone by itself", 30)
    scene.wait_health("user", "Healthy")
    until(lambda: daemon.node_events("DeviceHealthy", device), "the Event of its end", 10)
    assert daemon.metric("cardcage_device_cause", device=device, cause="Xid") is None
    assert [entry["kind"] for entry in history(daemon, device) if entry["cause"] == "Xid"][:2] == ["ended", "began"]
    assert daemon.process_ids() == daemons, "nothing was restarted"
    assert scene.get("pods", "user")["status"]["containerStatuses"][0]["restartCount"] == restarts


def test_a_degraded_device_stays_in_use(scene, daemon):
    device = running_with_gpu(scene, "user")
    scene.wait_health("user", "Healthy")
    tell(f"health {device} ok {HOT}")
    until(lambda: daemon.live_causes(device).get("Temperature", {}).get("state") == "degraded", "the device is degraded", 10)
    time.sleep(1)
    _, seen = scene.wait_health("user", "Healthy")
    assert "97" in seen.get("message", ""), seen
    tell(f"health {device} ok {COOL}")
    until(lambda: not daemon.live_causes(device), "it has cooled down", 10)


def test_a_taint_keeps_new_pods_away_and_tolerating_ones_come(scene, daemon):
    sick = "gpu-5"
    tell(f"health {sick} bad cause=Link LinkDown no carrier")
    until(lambda: taints(daemon, sick), "a taint on the device", 10)
    cel = f"device.attributes['{DRIVER}'].index == 5"
    scene.apply(claim("strict", request(cel=cel)), pod("strict", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="strict")]))
    until(lambda: [text for text in scene.events("FailedScheduling", "strict") if "cannot allocate" in text], "the scheduler refuses the pod", 20)
    assert running_with_gpu(scene, "tolerant", toleration("NoSchedule"), cel) == sick
    scene.delete("pods", "tolerant")
    scene.wait_gone("pods", "tolerant")
    tell(f"health {sick} ok cause=Link")
    scene.wait_running("strict", seconds=60)


def test_no_execute_evicts_and_the_tolerating_one_stays(scene, daemon):
    victim = running_with_gpu(scene, "victim")
    stays = running_with_gpu(scene, "stays", toleration("NoExecute"))
    for device in (victim, stays):  # the statement names no taint: the declared one counts
        tell(f"health {device} bad cause=Broken taint=none Broken the card is broken")
    scene.wait_gone("pods", "victim", seconds=60)
    assert scene.get("pods", "stays")["status"]["phase"] == "Running"
    assert "deletionTimestamp" not in scene.get("pods", "stays")["metadata"]
    for device in (victim, stays):  # only an operator ends this cause
        tell(f"health {device} ok cause=Broken")
        time.sleep(0.5)
        assert "Broken" in daemon.live_causes(device)
        daemon.cagectl("device", "clear", device, "Broken", "--reason", "the card was replaced")
        until(lambda device=device: not taints(daemon, device), "the taint is gone", 10)
        assert history(daemon, device)[0]["kind"] == "cleared" and "replaced" in json.dumps(history(daemon, device)[0])


def test_a_resource_loses_only_its_sick_device(scene, daemon, cluster):
    [before] = allocatable(cluster.api, FPGA)
    tell("health fpga-1 degraded cause=Link Slow half of its lanes")
    until(lambda: daemon.live_causes("fpga-1"), "it is degraded", 10)
    time.sleep(1)
    assert allocatable(cluster.api, FPGA) == [before], "a degraded device stays"
    tell("health fpga-1 bad cause=Link LinkDown no carrier")
    wait_allocatable(cluster.api, {FPGA: before - 1})
    tell("health fpga-1 ok cause=Link")
    wait_allocatable(cluster.api, {FPGA: before})


def test_a_device_that_vanishes_stays_unhealthy_for_its_pod(scene, daemon):
    device = running_with_gpu(scene, "user")
    scene.wait_health("user", "Healthy")
    tell(f"remove {device}")
    _, seen = scene.wait_health("user", "Unhealthy")
    assert "Gone" in seen["message"], seen
    tell(f"add {device}")
    scene.wait_health("user", "Healthy")
    kinds = [(entry["kind"], entry["cause"]) for entry in history(daemon, device)]
    assert kinds[:2] == [("back", ""), ("gone", "")], kinds


def test_cordon_outlives_the_daemon(scene, daemon, cluster):
    text = daemon.cagectl("device", "cordon", "gpu-7", "--reason", "waits for a technician")
    assert "gpu-7" in text
    until(lambda: taints(daemon, "gpu-7"), "a taint on the device", 10)
    daemon.kill()
    until(lambda: taints(daemon, "gpu-7"), "the taint is still there", 10)
    assert "waits for a technician" in daemon.cagectl("health", "gpu-7")
    [before] = allocatable(cluster.api, FPGA)
    daemon.cagectl("device", "cordon", "fpga-0")
    wait_allocatable(cluster.api, {FPGA: before - 1})
    for device in ("gpu-7", "fpga-0"):
        daemon.cagectl("device", "uncordon", device)
    until(lambda: not taints(daemon, "gpu-7"), "the taint is gone", 10)
    wait_allocatable(cluster.api, {FPGA: before})


def test_causes_and_history_outlive_daemon_and_kubelet(scene, daemon, cluster):
    device = running_with_gpu(scene, "user")
    tell(f"health {device} bad cause=Broken taint=NoSchedule Broken the card is broken")
    until(lambda: "Broken" in daemon.live_causes(device), "the cause counts", 10)
    entries = len(history(daemon, device))
    daemon.kill()
    until(lambda: "Broken" in daemon.live_causes(device), "the cause still counts", 20)
    assert len(history(daemon, device)) >= entries
    scene.wait_health("user", "Unhealthy")
    cluster.restart_kubelet()
    scene.wait_health("user", "Unhealthy", seconds=40)
    tell(f"health {device} ok cause=Broken")
    # A kubelet that has just started does not know its pods yet.
    until(lambda: daemon.cagectl("device", "clear", device, "Broken"), "an operator ends the cause", 20)
    scene.wait_health("user", "Healthy")


def test_lost_heartbeats_are_unknown_and_come_back(scene, daemon):
    def wait_recomputed(health: str) -> None:
        """The kubelet ages reports when it computes the pod's status, which a change of the pod makes it do."""
        def probe():
            kubectl("annotate", "--overwrite", f"--namespace={scene.namespace}", "pod", "user", f"looked={time.time()}")
            return scene.wait_health("user", health, seconds=2)
        until(probe, f"the kubelet says {health}", 60, every=2)

    until(lambda: not json.loads(daemon.cagectl("claims", "--json")), "no claim waits for the stopped daemon", 60)
    running_with_gpu(scene, "user")
    scene.wait_health("user", "Healthy")
    [stopped] = daemon.process_ids()
    os.kill(stopped, signal.SIGSTOP)
    try:
        wait_recomputed("Unknown")
    finally:
        os.kill(stopped, signal.SIGCONT)
    wait_recomputed("Healthy")


def test_a_reset_heals_and_waits_for_the_pod(scene, daemon):
    device = running_with_gpu(scene, "user")
    tell(f"health {device} bad cause=Ecc Ecc two errors")
    until(lambda: "Ecc" in daemon.live_causes(device), "the cause counts", 10)
    with pytest.raises(AssertionError, match="is held by"):
        daemon.cagectl("device", "reset", device)
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")
    until(lambda: "is reset" in daemon.cagectl("device", "reset", device), "the device is free", 20)
    until(lambda: not daemon.live_causes(device), "the reset has ended the cause", 10)
    assert "reset" in [entry["kind"] for entry in history(daemon, device)]
