"""The same daemon under the newest and the oldest kubelet that it supports, both with a topology policy."""

import time

import pytest

from mock import assert_given, claim, use
from node import NEWEST, NODE, OLDEST
from resources import DSP, FPGA, FPGAS_OF_A_SOCKET, VPU, held, restart_kubelet, wait_allocatable, wait_listed
from scene import container, pod
from waiting import until


@pytest.fixture(scope="module", params=[NEWEST, OLDEST])
def kubelet(cluster, daemon, request):
    started = time.time()
    cluster.use_kubelet(request.param, "single-numa-node")
    wait_listed(started)  # until then the API server shows what the previous kubelet had
    wait_allocatable(cluster.api)
    yield request.param
    if request.param == OLDEST:
        cluster.use_kubelet(NEWEST)


def test_version(cluster, kubelet):
    version = {NEWEST: "v1.36.", OLDEST: "v1.34."}[kubelet]
    until(lambda: cluster.api.get(f"/api/v1/nodes/{NODE}")["status"]["nodeInfo"]["kubeletVersion"].startswith(version),
          f"the node reports kubelet {version}x", 10)


def test_more_than_a_socket_has_is_refused(scene, kubelet):
    scene.apply(pod("user", [container(limits={FPGA: 5})]))
    status = scene.wait_phase("user", "Failed")["status"]
    assert status["reason"] == "TopologyAffinityError", status


def test_every_way_and_both_apis(scene, daemon, kubelet):
    scene.apply(claim("gpu"), pod("user", [container(claims=[{"name": "gpu"}], limits={FPGA: 1, VPU: 1, DSP: 1})], [use("gpu", claim="gpu")]))
    scene.wait_running("user")
    assert_given(scene, daemon, scene.get("resourceclaims", "gpu")["metadata"]["uid"], "user")
    assert [len(held(scene, "user", resource)) for resource in (FPGA, VPU, DSP)] == [1, 1, 1]


def test_devices_of_one_socket(scene, kubelet):
    """Three and four devices need a socket each; the kubelet knows their sockets from the device list alone.

    This is not the first test of the file: just after its start, a kubelet still counts devices of earlier pods."""
    scene.apply(pod("three", [container(limits={FPGA: 3})]), pod("four", [container(limits={FPGA: 4})]))
    scene.wait_running("three", "four")
    three, four = held(scene, "three", FPGA), held(scene, "four", FPGA)
    assert (len(three), len(four)) == (3, 4)
    assert four in FPGAS_OF_A_SOCKET and three < FPGAS_OF_A_SOCKET[1 - FPGAS_OF_A_SOCKET.index(four)]


def test_restarts(cluster, scene, daemon, kubelet, measured):
    scene.apply(pod("user", [container(limits={FPGA: 2, VPU: 1, DSP: 1})]))
    scene.wait_running("user")
    before = scene.get("pods", "user")["status"]["containerStatuses"][0]["containerID"]
    seconds = restart_kubelet(cluster)
    measured(f"{kubelet} restart: has the devices again {seconds * 1000:.0f} ms after it began to listen")
    assert seconds < 1
    daemon.kill()
    wait_allocatable(cluster.api)
    assert scene.get("pods", "user")["status"]["containerStatuses"][0]["containerID"] == before
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")
