"""Claims as users write them, and the edits of their containers."""

import re
import time

import pytest

from latency import latency
from mock import CLASS, DRIVER, allocated, assert_given, assert_not_given, claim, request, sees, template, use
from scene import STAY, container, pod
from waiting import until


def test_devices_are_published(daemon):
    devices = until(lambda: daemon.devices(DRIVER), "slices of the driver", 10)
    assert len(devices) == 24
    assert len({device["name"] for device in devices}) == 24


def test_one_claim(scene, daemon):
    scene.apply(claim("one"), pod("user", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="one")]))
    scene.wait_running("user")
    found = scene.get("resourceclaims", "one")
    assert len(allocated(found)) == 1
    assert_given(scene, daemon, found["metadata"]["uid"], "user")
    assert found["metadata"]["uid"] in daemon.cagectl("claims")


def test_one_claim_in_two_of_three_containers(scene, daemon):
    scene.apply(claim("shared"), pod("user", [
        container("first", claims=[{"name": "gpu"}]), container("second", claims=[{"name": "gpu"}]), container("without")],
        [use("gpu", claim="shared")]))
    scene.wait_running("user")
    uid = scene.get("resourceclaims", "shared")["metadata"]["uid"]
    env = assert_given(scene, daemon, uid, "user", "first")
    assert assert_given(scene, daemon, uid, "user", "second") == env
    assert_not_given(scene, env, "user", "without")


def test_two_requests_of_a_claim_go_to_the_containers_that_name_them(scene, daemon):
    scene.apply(claim("pair", request("left"), request("right")), pod("user", [
        container("left", claims=[{"name": "gpus", "request": "left"}]),
        container("right", claims=[{"name": "gpus", "request": "right"}]),
        container("both", claims=[{"name": "gpus"}])], [use("gpus", claim="pair")]))
    scene.wait_running("user")
    found = scene.get("resourceclaims", "pair")
    assert len(set(allocated(found))) == 2
    promised = assert_given(scene, daemon, found["metadata"]["uid"], "user", "both")
    left, right = (promised & sees(scene, "user", which)["env"] for which in ("left", "right"))
    assert left and right and left != right


def test_one_claim_of_two_pods(scene, daemon):
    """The second pod gets the device without another prepare, and keeps it when the first pod ends."""
    scene.apply(claim("shared"), *(pod(name, [container(claims=[{"name": "gpu"}])], [use("gpu", claim="shared")])
                                   for name in ("first", "second")))
    scene.wait_running("first", "second")
    uid = scene.get("resourceclaims", "shared")["metadata"]["uid"]
    assert assert_given(scene, daemon, uid, "first") == assert_given(scene, daemon, uid, "second")
    scene.delete("pods", "first")
    scene.wait_gone("pods", "first")
    assert_given(scene, daemon, uid, "second")
    scene.delete("pods", "second")
    scene.wait_gone("pods", "second")
    until(lambda: not daemon.cdi_files(uid), "the CDI files are gone with the last pod", 10)


def test_template_makes_a_claim_for_each_pod(scene, daemon):
    scene.apply(template("gpu"), *(pod(name, [container(claims=[{"name": "gpu"}])], [use("gpu", template="gpu")])
                                   for name in ("first", "second")))
    scene.wait_running("first", "second")
    claims = scene.items("resourceclaims")
    assert len(claims) == 2
    assert len({allocated(found)[0] for found in claims}) == 2
    owners = {found["metadata"]["ownerReferences"][0]["name"]: found["metadata"]["uid"] for found in claims}
    for name, uid in owners.items():
        assert_given(scene, daemon, uid, name)


def test_pod_deletion_frees_everything(scene, daemon):
    scene.apply(template("gpu"), pod("user", [container(claims=[{"name": "gpu"}])], [use("gpu", template="gpu")]))
    scene.wait_running("user")
    [found] = scene.items("resourceclaims")
    uid = found["metadata"]["uid"]
    assert daemon.cdi_files(uid)
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")
    until(lambda: not scene.items("resourceclaims"), "the claim is gone with its pod", 20)
    assert not daemon.cdi_files(uid)
    assert uid not in daemon.cagectl("claims")
    assert uid in daemon.cagectl("history")


def test_job_with_selectors_on_attributes_and_capacity(scene, cluster, daemon):
    """From the Kubernetes tutorial: a class with a selector, a template with another selector, and a shared claim."""
    selects = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].model.startsWith("Mock")'
    enough = f'device.capacity["{DRIVER}"].memory.compareTo(quantity("1Gi")) >= 0'
    device_class = f"{scene.namespace}-class"
    scene.apply(
        {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": device_class},
         "spec": {"selectors": [{"cel": {"expression": selects}}]}},
        template("own", request(cel=enough, device_class=device_class)),
        claim("common", request(device_class=device_class)),
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work"}, "spec": {
            "parallelism": 3, "completions": 3, "template": {"spec": pod("", [
                container("separate", "env | sort", claims=[{"name": "own"}]),
                container("together", "env | sort", claims=[{"name": "common"}])],
                [use("own", template="own"), use("common", claim="common")])["spec"]}}})
    try:
        until(lambda: scene.get("jobs", "work")["status"].get("succeeded") == 3, "the job is done", 60)
        pods = [found["metadata"]["name"] for found in scene.items("pods", labelSelector="job-name=work")]
        assert len(pods) == 3
        own, common = ([given(scene.logs(name, container)) for name in pods] for container in ("separate", "together"))
        assert all(len(each["devices"]) == 1 for each in own + common), "one device each"
        assert len({each["claim"] for each in own}) == 3, "each pod has a claim of its own"
        assert len({each["claim"] for each in common}) == 1, "the pods share one claim"
        assert all(mine["devices"] != ours["devices"] for mine, ours in zip(own, common))
    finally:
        cluster.api.delete(f"/apis/resource.k8s.io/v1/deviceclasses/{device_class}")


def given(environment: str) -> dict:
    """The claim and the devices in the environment of a container."""
    told = dict(line.split("=", 1) for line in environment.splitlines())
    return {"claim": told["MOCK_CLAIM"], "devices": {name for name in told if re.fullmatch(r"MOCK_GPU_\d+", name)}}


def test_no_device_matches(scene, daemon):
    scene.apply(claim("none", request(cel=f'device.attributes["{DRIVER}"].model == "no-such-model"')),
                pod("user", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="none")]))
    until(lambda: any("cannot allocate all claims" in text for text in scene.events("FailedScheduling", "user")),
          "the scheduler reports that no device matches", 15)


def test_twenty_pods_at_once(scene, daemon, measured):
    names = [f"user-{number:02}" for number in range(20)]
    started = time.monotonic()
    scene.apply(template("gpu"), *(pod(name, [container(command=STAY, claims=[{"name": "gpu"}])], [use("gpu", template="gpu")])
                                   for name in names))
    scene.wait_running(*names, seconds=90)
    measured(f"20 pods with a claim each: all running after {time.monotonic() - started:.1f} s; the kubelet waited"
             f" {latency(daemon.api, DRIVER, 'NodePrepareResources')} so far")
    claims = scene.items("resourceclaims")
    assert len({allocated(found)[0] for found in claims}) == 20, "no device was given twice"
    uids = [found["metadata"]["uid"] for found in claims]
    assert all(daemon.cdi_files(uid) for uid in uids)
    started = time.monotonic()
    scene.delete("pods", *names)
    scene.wait_gone("pods", *names, seconds=90)
    measured(f"20 pods with a claim each: all gone after {time.monotonic() - started:.1f} s")
    assert not [path for uid in uids for path in daemon.cdi_files(uid)]
    listed = daemon.cagectl("claims")
    assert not [uid for uid in uids if uid in listed]


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_claims_of_older_api_versions(scene, daemon, version):
    """The claims are written in an older version; the kubelet and the daemon read any version."""
    exactly = {"deviceClassName": CLASS}
    requested = {"name": "gpu", **(exactly if version == "v1beta1" else {"exactly": exactly})}
    scene.apply({"apiVersion": f"resource.k8s.io/{version}", "kind": "ResourceClaim", "metadata": {"name": "old"},
                 "spec": {"devices": {"requests": [requested]}}},
                pod("user", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="old")]))
    scene.wait_running("user")
    assert_given(scene, daemon, scene.get("resourceclaims", "old")["metadata"]["uid"], "user")


def test_example(scene, daemon):
    with scene.example("mock-first-pod.yaml", "first-pod"):
        scene.wait_log("first-pod", r"^MOCK_GPU_\d+=GPU-")
        [made] = scene.items("resourceclaims")
        assert made["metadata"]["uid"] in daemon.cagectl("claims")
