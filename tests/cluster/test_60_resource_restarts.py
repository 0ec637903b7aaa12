"""Kubelet and daemon restart while pods hold devices of the device-plugin API: no pod is lost, every device comes back."""

import contextlib
import time

import pytest

from losses import losses
from resources import COUNTS, DEVICE_PLUGINS, DSP, FPGA, KUBELET_SOCKET, VPU, WATCH_SECONDS, allocatable, held, restart_kubelet, wait_allocatable, wait_listed
from scene import STAY, container, pod
from stream import Stream
from waiting import on_this_machine, until


@pytest.fixture
def running(cluster, scene, daemon):
    """A running pod with devices of every kind of registration and delivery. The test must not change it."""
    wait_allocatable(cluster.api, seconds=30)
    scene.apply(pod("user", [container(limits={FPGA: 2, VPU: 1, DSP: 1})]))
    scene.wait_running("user")
    before = state_of_pod(scene)
    assert [len(devices) for devices in before[2:]] == [2, 1, 1]
    yield
    # The kubelet refuses exec for a moment after its start.
    assert until(lambda: state_of_pod(scene), "the kubelet allows exec in the pod", 20) == before
    scene.apply(pod("later", [container(limits={FPGA: 6, VPU: 1, DSP: 1})]))
    scene.wait_running("later", seconds=40)
    assert held(scene, "later", FPGA) == {f"fpga-{index}" for index in range(8)} - before[2]
    scene.delete("pods", "user", "later")
    scene.wait_gone("pods", "user", "later")
    wait_allocatable(cluster.api)


def state_of_pod(scene) -> tuple:
    status = scene.get("pods", "user")["status"]["containerStatuses"][0]
    return status["containerID"], status["restartCount"], *(held(scene, "user", resource) for resource in (FPGA, VPU, DSP))


def test_kubelet_restart(cluster, scene, daemon, running, measured):
    seconds = restart_kubelet(cluster)
    measured(f"kubelet restart: has the devices of all {len(COUNTS)} resources {seconds * 1000:.0f} ms after it began to listen")
    assert seconds < on_this_machine(WATCH_SECONDS)
    wait_allocatable(cluster.api)


def test_kubelet_restart_while_pods_come(cluster, scene, daemon, running, measured):
    """The kubelet admits waiting pods a moment after it listens for device plugins."""
    with Stream(scene, FPGA) as stream:
        time.sleep(1)
        cluster.restart_kubelet()
        time.sleep(2)
    lost = losses(scene, stream)
    measured(f"kubelet restart under a stream of pods: {len(lost)} of {len(stream.names)} lost")
    assert not lost, [loss.complaint for loss in lost]


def test_sockets_are_wiped(cluster, scene, daemon, running, measured):
    """The sockets beside kubelet.sock come back, and the kubelet's open connections survive."""
    def sockets() -> set:
        return {path for path in DEVICE_PLUGINS.iterdir() if path.is_socket() and path != KUBELET_SOCKET}

    assert sockets()
    wiped = time.time()
    for path in sockets():
        path.unlink()
    until(sockets, "the sockets are back", 10, every=0.005)
    seconds = time.time() - wiped
    measured(f"sockets wiped: back after {seconds * 1000:.0f} ms")
    assert seconds < on_this_machine(1)
    wait_allocatable(cluster.api)


def test_daemon_killed(cluster, scene, daemon, running, measured):
    killed = daemon.kill_and_see_start()
    seconds = {}
    for resource in (VPU, FPGA, DSP):
        seconds[resource] = wait_listed(killed, {resource: COUNTS[resource]}) - killed
    measured("daemon killed: until the kubelet has the devices: " +
             ", ".join(f"{resource} {took * 1000:.0f} ms" for resource, took in seconds.items()))
    daemon.wait_serving()
    wait_allocatable(cluster.api)
    assert seconds[VPU] < on_this_machine(0.5)


def test_daemon_killed_between_allocate_and_start(cluster, scene, daemon, running):
    """The kubelet allocates for all containers when it admits a pod, before the init containers run."""
    scene.apply(pod("slow", [container(limits={FPGA: 1, VPU: 1})],
                    initContainers=[container("gate", "until [ -e /gate/open ]; do sleep 0.1; done",
                                              volumeMounts=[{"name": "gate", "mountPath": "/gate"}])],
                    volumes=[{"name": "gate", "emptyDir": {}}]))
    until(lambda: "running" in scene.get("pods", "slow")["status"]["initContainerStatuses"][0]["state"], "the init container runs", 20)
    daemon.kill_and_see_start()
    scene.execute("slow", "touch", "/gate/open", container="gate")
    scene.wait_running("slow")
    assert len(held(scene, "slow", FPGA)) == 1 and len(held(scene, "slow", VPU)) == 1
    daemon.wait_serving()
    scene.delete("pods", "slow")
    scene.wait_gone("pods", "slow")


def test_container_ends_while_there_is_no_daemon(cluster, scene, daemon, running):
    """The daemon must call the module before each start of a container, so the next start waits for the daemon."""
    scene.apply(pod("again", [container(command=STAY, limits={FPGA: 1, VPU: 1})], restartPolicy="Always"))
    scene.wait_running("again")
    before = held(scene, "again", FPGA), held(scene, "again", VPU)
    daemon.scale_to_nothing()
    try:
        with contextlib.suppress(AssertionError):  # the kill command ends with the container
            scene.execute("again", "kill", "1")
        until(lambda: allocatable(cluster.api, FPGA, VPU) == [0, 0], "the scheduler sees no devices", 20)
    finally:
        daemon.scale_back()
    until(lambda: scene.get("pods", "again")["status"]["containerStatuses"][0]["restartCount"] == 1, "the second start", 60)
    scene.wait_running("again")
    assert (held(scene, "again", FPGA), held(scene, "again", VPU)) == before
    wait_allocatable(cluster.api)
    scene.delete("pods", "again")
    scene.wait_gone("pods", "again")


def test_daemon_pod_is_replaced(cluster, scene, daemon, running):
    daemon.replace_pod()
    wait_allocatable(cluster.api)
