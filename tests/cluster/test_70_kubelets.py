"""The same daemon under each kubelet that it supports, with a topology policy."""

import json
import re
import time

import pytest

from mock import CLASS, DRIVER, allocated, assert_given, assert_not_given, claim, tell, use
from node import KUBELETS, NEWEST, NODE
from resources import DSP, FPGA, FPGAS_OF_A_SOCKET, VPU, WATCH_SECONDS, held, restart_kubelet, wait_allocatable, wait_listed
from scene import container, pod
from waiting import on_this_machine, until


@pytest.fixture(scope="module", params=KUBELETS)
def kubelet(cluster, daemon, request):
    started = time.time()
    cluster.use_kubelet(request.param, "single-numa-node")
    wait_listed(started)  # until then the API server shows the previous kubelet's amounts
    wait_allocatable(cluster.api)
    yield request.param
    if request.param == [*KUBELETS][-1]:
        cluster.use_kubelet(NEWEST)


def test_version(cluster, kubelet):
    until(lambda: cluster.api.get(f"/api/v1/nodes/{NODE}")["status"]["nodeInfo"]["kubeletVersion"].startswith(KUBELETS[kubelet]),
          f"the node reports kubelet {KUBELETS[kubelet]}x", 10)


def test_newest_apis_of_the_kubelet_are_used(cluster, daemon, kubelet):
    """Since 1.37 kubelets open the stream v1 for the health of a driver's devices, and serve the Pods API."""
    earlier = len(until(daemon.log, "the kubelet, which has just started, shows logs", 20))
    cluster.restart_kubelet()
    lines = until(lambda: [line for line in daemon.log()[earlier:] if "watches the health" in line and f"driver={DRIVER} " in line],
                  "the kubelet watches the health of devices", 20)
    services = {re.search(r" service=(\S+)", line)[1] for line in lines}
    assert services == {"v1.DRAResourceHealth" if kubelet == NEWEST else "v1alpha1.DRAResourceHealth"}
    state = "watching" if kubelet == NEWEST else "absent"
    until(lambda: json.loads(daemon.cagectl("status", "--json"))["podsApi"]["state"] == state, f"the Pods API is {state}", 40)


def test_health_is_in_the_pod_status(scene, daemon, kubelet):
    """The claim is called gpu in the pod, too: kubelet 1.34 reports no health of claims that have another name there."""
    scene.apply(claim("gpu"), pod("user", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="gpu")]))
    scene.wait_running("user")
    [device] = allocated(scene.get("resourceclaims", "gpu"))
    scene.wait_health("user", "Healthy")
    tell(f"health {device} bad XidError the bus fell off")
    scene.wait_health("user", "Unhealthy")
    tell(f"health {device} ok")
    scene.wait_health("user", "Healthy")


def test_alternative_of_a_request(scene, daemon, kubelet):
    """The kubelet passes the name of the request to the container, without the name of the alternative."""
    chosen = claim("chosen")
    chosen["spec"]["devices"]["requests"] = [{"name": "gpu", "firstAvailable": [
        {"name": "none", "deviceClassName": CLASS, "selectors": [{"cel": {"expression": "false"}}]}, {"name": "pair", "deviceClassName": CLASS, "count": 2}]}]
    scene.apply(chosen, pod("user", [container(claims=[{"name": "gpu", "request": "gpu"}]), container("without")], [use("gpu", claim="chosen")]))
    scene.wait_running("user")
    found = scene.get("resourceclaims", "chosen")
    assert {result["request"] for result in found["status"]["allocation"]["devices"]["results"]} == {"gpu/pair"}
    assert_not_given(scene, assert_given(scene, daemon, found["metadata"]["uid"], "user", "main"), "user", "without")


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
    assert seconds < on_this_machine(WATCH_SECONDS)
    daemon.kill()
    wait_allocatable(cluster.api)
    assert scene.get("pods", "user")["status"]["containerStatuses"][0]["containerID"] == before
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")
