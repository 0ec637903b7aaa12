"""Pods with resources.limits: the edits of their containers through the device-plugin API, and the errors if there are none."""

import pytest

from mock import assert_given, claim, sees, tell, use
from node import NODE
from resources import ASIC, COUNTS, DSP, FPGA, VPU, allocatable, held, told, wait_allocatable
from scene import STAY, container, pod
from waiting import until


@pytest.fixture(scope="module", autouse=True)
def served(cluster, daemon):
    wait_allocatable(cluster.api)


def wait_rejected(scene, name: str) -> dict:
    """Waits until the kubelet has rejected the pod; returns the pod's status."""
    return scene.wait_phase(name, "Failed")["status"]


def test_capacity_is_allocatable(cluster, daemon):
    assert allocatable(cluster.api, *COUNTS, field="capacity") == list(COUNTS.values())


def test_one_two_and_all_devices(scene, daemon):
    scene.apply(pod("one", [container(limits={FPGA: 1})]), pod("two", [container(limits={FPGA: 2})]))
    scene.wait_running("one", "two")
    one, two = held(scene, "one", FPGA), held(scene, "two", FPGA)
    assert (len(one), len(two)) == (1, 2) and not one & two
    scene.delete("pods", "one", "two")
    scene.wait_gone("pods", "one", "two")
    scene.apply(pod("all", [container(limits={FPGA: 8})]))
    scene.wait_running("all")
    assert len(held(scene, "all", FPGA)) == 8


def test_two_containers_and_one_without(scene, daemon):
    scene.apply(pod("user", [container("first", limits={FPGA: 1}), container("second", limits={FPGA: 2, VPU: 1}), container("without")]))
    scene.wait_running("user")
    first, second = held(scene, "user", FPGA, "first"), held(scene, "user", FPGA, "second")
    assert (len(first), len(second)) == (1, 2) and not first & second
    assert len(held(scene, "user", VPU, "second")) == 1
    assert not held(scene, "user", FPGA, "without") and not held(scene, "user", VPU, "without")


def test_init_containers_and_then_app_containers_have_all(scene, daemon):
    """The kubelet reuses the devices of an init container for the next one and for the app containers."""
    scene.apply(pod("user", [container("five", limits={FPGA: 5}), container("three", limits={FPGA: 3})],
                    initContainers=[container(name, "env; ls /dev/mock", limits={FPGA: 8}) for name in ("before", "then")]))
    scene.wait_running("user")
    for name in ("before", "then"):
        lines = set(scene.logs("user", name).splitlines())
        assert told(lines, FPGA) == {f"fpga-{index}" for index in range(8)} <= lines
    five, three = held(scene, "user", FPGA, "five"), held(scene, "user", FPGA, "three")
    assert (len(five), len(three)) == (5, 3) and not five & three


def test_sidecar_keeps_its_device(scene, daemon):
    scene.apply(pod("user", [container("app", limits={FPGA: 7})],
                    initContainers=[container("sidecar", limits={FPGA: 1}, restartPolicy="Always")]))
    scene.wait_running("user")
    assert held(scene, "user", FPGA, "app") | held(scene, "user", FPGA, "sidecar") == {f"fpga-{index}" for index in range(8)}


def test_container_that_starts_anew_has_the_same_devices(scene, daemon):
    """The kubelet does not allocate again: the runtime gets the first response."""
    scene.apply(pod("user", [container(command=f"test -e /kept/again || {{ touch /kept/again; exit 1; }}; {STAY}",
                                       limits={FPGA: 2, VPU: 1}, volumeMounts=[{"name": "kept", "mountPath": "/kept"}])],
                    restartPolicy="Always", volumes=[{"name": "kept", "emptyDir": {}}]))
    until(lambda: scene.get("pods", "user")["status"].get("containerStatuses", [{}])[0].get("restartCount") == 1, "the second start", 30)
    scene.wait_running("user")
    assert len(held(scene, "user", FPGA)) == 2 and len(held(scene, "user", VPU)) == 1


def test_delivery_without_cdi(scene, daemon):
    scene.apply(pod("user", [container(limits={VPU: 2})]))
    scene.wait_running("user")
    assert held(scene, "user", VPU) == {"vpu-0", "vpu-1"}


def test_shared_devices(scene, daemon):
    """Eight pods share two devices, spread evenly; the devices are delivered as annotations."""
    names = [f"user-{number}" for number in range(8)]
    scene.apply(*(pod(name, [container(limits={DSP: 1})]) for name in names))
    scene.wait_running(*names, seconds=60)
    devices = [held(scene, name, DSP) for name in names]
    assert all(len(each) == 1 for each in devices), devices
    assert sorted(sum(map(sorted, devices), [])) == ["dsp-0"] * 4 + ["dsp-1"] * 4


def test_more_than_one_share_is_refused(scene, daemon):
    scene.apply(pod("user", [container(limits={DSP: 2})]))
    status = wait_rejected(scene, "user")
    assert status["reason"] == "UnexpectedAdmissionError"
    assert f"asks for 2 of resource '{DSP}'" in status["message"] and "write 1 in its limits" in status["message"], status["message"]


def test_more_than_there_are(scene, daemon):
    """The scheduler holds such a pod back, and the kubelet rejects one that bypasses it. Kubernetes wrote both texts."""
    scene.apply(pod("patient", [container(limits={FPGA: 9})]), pod("forced", [container(limits={FPGA: 9})], nodeName=NODE))
    [text, *_] = until(lambda: scene.events("FailedScheduling", "patient"), "the scheduler reports why", 15)
    assert f"Insufficient {FPGA}" in text
    status = wait_rejected(scene, "forced")
    assert status["reason"] == "UnexpectedAdmissionError", status
    assert f"requested number of devices unavailable for {FPGA}. Requested: 9, Available: 8" in status["message"], status


def test_device_that_cannot_be_prepared_says_why(cluster, scene, daemon):
    """The pod's status has the module's text. The device is withheld for a while, so that pods do not fail one after the
    other. Other resources are not affected."""
    scene.apply(pod("broken", [container(limits={ASIC: 1})]))
    status = wait_rejected(scene, "broken")
    assert status["reason"] == "UnexpectedAdmissionError"
    assert "asic-0" in status["message"] and "the fan has stopped" in status["message"], status["message"]
    wait_allocatable(cluster.api, {**COUNTS, ASIC: 0})
    scene.apply(pod("well", [container(limits={FPGA: 1, VPU: 1})]))
    scene.wait_running("well")
    wait_allocatable(cluster.api, seconds=30)


def test_device_goes_bad_and_recovers(cluster, scene, daemon):
    scene.apply(pod("user", [container(limits={FPGA: 2})]))
    scene.wait_running("user")
    bad, good = sorted(held(scene, "user", FPGA))

    def health() -> dict[str, str]:
        [resource] = scene.get("pods", "user")["status"]["containerStatuses"][0]["allocatedResourcesStatus"]
        assert resource["name"] == FPGA
        return {device["resourceID"]: device["health"] for device in resource["resources"]}

    tell(f"health {bad} bad XidError the bus fell off")
    until(lambda: health() == {bad: "Unhealthy", good: "Healthy"}, "the pod's status reports it", 20)
    wait_allocatable(cluster.api, {FPGA: 7})
    assert allocatable(cluster.api, FPGA, field="capacity") == [8]
    assert scene.get("pods", "user")["status"]["phase"] == "Running"
    tell(f"health {bad} ok")
    until(lambda: set(health().values()) == {"Healthy"}, "the pod's status reports it", 20)
    wait_allocatable(cluster.api, {FPGA: 8})


def test_device_is_unplugged_while_a_pod_has_it(cluster, scene, daemon):
    """The device stays listed as unhealthy until the pod is gone."""
    scene.apply(pod("user", [container(limits={FPGA: 1})]))
    scene.wait_running("user")
    [device] = held(scene, "user", FPGA)
    tell(f"remove {device}")
    wait_allocatable(cluster.api, {FPGA: 7})
    assert allocatable(cluster.api, FPGA, field="capacity") == [8]
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")
    wait_allocatable(cluster.api, {FPGA: 7}, field="capacity", seconds=30)
    tell(f"add {device}")
    wait_allocatable(cluster.api, {FPGA: 8})


def test_who_has_a_device_is_known_until_the_pod_is_gone(scene, daemon):
    """The daemon gets no call when a pod is gone: it lists the kubelet's pods, and decides from several lists."""
    scene.apply(pod("holder", [container(limits={FPGA: 1})]))
    scene.wait_running("holder")
    pod_name = f"{scene.namespace}/holder"
    until(lambda: pod_name in daemon.cagectl("claims"), "the daemon knows the pod", 15)
    scene.delete("pods", "holder")
    scene.wait_gone("pods", "holder")
    until(lambda: pod_name not in daemon.cagectl("claims"), "the daemon knows that the pod is gone", 75)
    assert pod_name in daemon.cagectl("history")


def test_one_container_uses_both_apis(scene, daemon):
    """One module serves its GPUs through DRA and its FPGAs as a resource."""
    scene.apply(claim("gpu"), pod("user", [container(claims=[{"name": "gpu"}], limits={FPGA: 1})], [use("gpu", claim="gpu")]))
    scene.wait_running("user")
    assert_given(scene, daemon, scene.get("resourceclaims", "gpu")["metadata"]["uid"], "user")
    assert len(held(scene, "user", FPGA)) == 1
    assert not told(sees(scene, "user")["env"], VPU)


def test_example(scene, daemon):
    with scene.example("extended-resource.yaml", "by-limit"):
        scene.wait_log("by-limit", r"^MOCK_FPGA_\d+=FPGA-")
        assert "by-limit" in daemon.cagectl("claims") and not scene.items("resourceclaims")
