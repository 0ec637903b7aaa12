"""Features of the scheduler that users combine with claims: gates, affinity, eviction, overhead of a runtime, jobs."""

import pytest

from api import Api
from kubectl import apply, kubectl
from mock import DRIVER, allocated, assert_given, claim, request, template, use
from scene import Scene, container, pod
from waiting import until

HOSTNAME = "kubernetes.io/hostname"


def with_gpu(name: str, claim_name: str = "", labels: dict | None = None, command: str = "", **spec) -> dict:
    """A pod with one GPU, from this claim or from the template `gpu`."""
    source = use("gpu", claim=claim_name) if claim_name else use("gpu", template="gpu")
    main = container(claims=[{"name": "gpu"}], **({"command": command} if command else {}))
    made = pod(name, [main], [source], **spec)
    made["metadata"]["labels"] = labels or {}
    return made


def wait_unscheduled(scene: Scene, name: str, reason: str) -> None:
    def probe():
        conditions = {each["type"]: each for each in scene.get("pods", name)["status"].get("conditions", [])}
        assert conditions["PodScheduled"]["status"] == "False", conditions
        assert conditions["PodScheduled"]["reason"] == reason, conditions
        return True
    until(probe, f"pod {name} is not scheduled: {reason}", 20)


def test_a_gated_pod_holds_no_device(scene, daemon):
    scene.apply(claim("one"), with_gpu("user", "one", schedulingGates=[{"name": "example.com/quota"}]))
    wait_unscheduled(scene, "user", "SchedulingGated")
    assert not allocated(scene.get("resourceclaims", "one"))
    kubectl("patch", f"--namespace={scene.namespace}", "pod", "user", "--type=json",
            "--patch", '[{"op": "remove", "path": "/spec/schedulingGates"}]')
    scene.wait_running("user")
    assert_given(scene, daemon, scene.get("resourceclaims", "one")["metadata"]["uid"], "user")


def test_affinity_with_match_label_keys(scene, daemon):
    """A pod requires a server of its own version on the same node. Until that exists, it holds no device."""
    beside = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{
        "labelSelector": {"matchLabels": {"role": "server"}}, "matchLabelKeys": ["version"], "topologyKey": HOSTNAME}]}}
    scene.apply(template("gpu", request()), claim("later"),
                with_gpu("server-1", labels={"role": "server", "version": "1"}))
    scene.wait_running("server-1")
    scene.apply(with_gpu("client-1", labels={"version": "1"}, affinity=beside),
                with_gpu("client-2", "later", labels={"version": "2"}, affinity=beside))
    scene.wait_running("client-1")
    wait_unscheduled(scene, "client-2", "Unschedulable")
    assert not allocated(scene.get("resourceclaims", "later"))
    scene.apply(with_gpu("server-2", labels={"role": "server", "version": "2"}))
    scene.wait_running("server-2", "client-2", seconds=60)
    assert_given(scene, daemon, scene.get("resourceclaims", "later")["metadata"]["uid"], "client-2")


def evict(api: Api, scene: Scene, name: str) -> None:
    api.create(f"{scene.path('pods', name)}/eviction",
               {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": scene.namespace}})


def test_an_eviction_frees_the_device_for_the_next_pod(cluster, scene, daemon):
    """A drain evicts pods through the API. The claim stays, and is prepared again for the next pod."""
    scene.apply(claim("one"), with_gpu("first", "one"))
    scene.wait_running("first")
    uid = scene.get("resourceclaims", "one")["metadata"]["uid"]
    assert_given(scene, daemon, uid, "first")
    evict(cluster.api, scene, "first")
    scene.wait_gone("pods", "first")
    until(lambda: not daemon.cdi_files(uid), "the claim is unprepared", 20)
    assert uid not in daemon.cagectl("claims")
    scene.apply(with_gpu("second", "one"))
    scene.wait_running("second")
    assert scene.get("resourceclaims", "one")["metadata"]["uid"] == uid
    assert_given(scene, daemon, uid, "second")


@pytest.fixture
def runtime_class(cluster):
    name = "with-overhead"
    apply({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name}, "handler": "runc",
           "overhead": {"podFixed": {"cpu": "10m", "memory": "16Mi"}}})
    yield name
    cluster.api.delete(f"/apis/node.k8s.io/v1/runtimeclasses/{name}")


def test_a_runtime_class_with_overhead(scene, daemon, runtime_class):
    scene.apply(claim("one"), with_gpu("user", "one", runtimeClassName=runtime_class))
    scene.wait_running("user")
    assert scene.get("pods", "user")["spec"]["overhead"] == {"cpu": "10m", "memory": "16Mi"}
    assert_given(scene, daemon, scene.get("resourceclaims", "one")["metadata"]["uid"], "user")


def test_the_pods_of_a_job_take_turns_on_one_device(scene, daemon):
    """Two pods at a time request the same GPU: each gets it when the previous pod has ended and was unprepared."""
    only = f"device.attributes['{DRIVER}'].index == 9"
    scene.apply(template("gpu", request(cel=only)),
                {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work"}, "spec": {
                    "completions": 3, "parallelism": 2, "completionMode": "Indexed",
                    "template": {"spec": with_gpu("", command="env")["spec"]}}})
    until(lambda: scene.get("jobs", "work")["status"].get("succeeded") == 3, "the job is done", 60)
    assert scene.get("jobs", "work")["status"]["completedIndexes"] == "0-2"
    pods = [found["metadata"]["name"] for found in scene.items("pods", labelSelector="job-name=work")]
    told = [dict(line.split("=", 1) for line in scene.logs(name).splitlines() if "=" in line) for name in pods]
    assert all("MOCK_GPU_9" in each for each in told)
    assert len({each["MOCK_CLAIM"] for each in told}) == 3
