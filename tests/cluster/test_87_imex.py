"""IMEX channels and ComputeDomains (docs/nvidia.md, "Multi-node NVLink") on a node whose driver and IMEX daemon are simulated (sim/nvml)."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from changed_release import wait_released
from daemon import build_folder
from images import load_ubuntu
from kubectl import kubectl
from mock import claim, request, sees, use
from node import NODE, NODE_ADDRESS
from resources import wait_allocatable
from scene import container, pod
from waiting import until

DRIVER = "compute-domain.nvidia.com"
CLASS = "compute-domain-default-channel.nvidia.com"
CHANNEL = "/dev/nvidia-caps-imex-channels/channel0"
LABEL = "resource.nvidia.com/computeDomain"
DOMAINS = "/apis/resource.nvidia.com/v1beta1"
ROOT = Path("/run/nvidia")  # as in test_75_nvidia.py
CLIQUE = "abababab-abab-abab-abab-abababababab.7"


def fake(*words: str) -> str:
    """Changes the fake node: fake("imex", "READY")."""
    return subprocess.run([build_folder() / "bin/fake-nvidia", ROOT, *words], text=True, stdout=subprocess.PIPE, check=True).stdout


def release() -> dict:
    """Values of the chart. The fake driver and its nvidia-imex-ctl keep their state in files, so these must be writable."""
    mounts = {"nvidia": ROOT, "nvidia-state": ROOT / "driver/usr/lib64"}
    return {
        "driverRoot": str(ROOT / "driver"),
        "config": {"node": {f"{key}_root": f"{ROOT}/{folder}" for key, folder in (("sysfs", "sys"), ("procfs", "proc"), ("devfs", "dev"))}},
        "modules": {"imex": {"enabled": True, "options": {"health_interval": "500ms"}}},
        "fleet": {"enabled": True, "computeDomains": {"enabled": True}},
        "extraVolumes": [{"name": name, "hostPath": {"path": str(path)}} for name, path in mounts.items()],
        "extraVolumeMounts": [{"name": name, "mountPath": str(path)} for name, path in mounts.items()]}


@pytest.fixture(scope="module")
def channel(cluster, daemon) -> Iterator[None]:
    """The node offers channel-0, and the controller runs. The shipped daemon is restored afterwards."""
    fake("create", "h100", "1", "580.65.06")
    for options in (["--bind", ROOT, ROOT], ["--make-shared", ROOT]):
        subprocess.run(["mount", *options], check=True)
    try:
        fake("join", "0", "7")
        fake("imex", "READY")
        wait_released(daemon, 90)
        daemon.apply(release())
        until(lambda: [device["name"] for device in daemon.devices(DRIVER)] == ["channel-0"], "channel-0 is published", 60)
        yield
        wait_released(daemon, 90)
    finally:
        daemon.apply()
        wait_allocatable(cluster.api)
        subprocess.run(["umount", "--recursive", ROOT], check=True)


def domain_path(scene, name: str = "") -> str:
    return f"{DOMAINS}/namespaces/{scene.namespace}/computedomains" + (f"/{name}" if name else "")


@pytest.fixture
def served(scene, channel) -> None:
    until(lambda: scene.api.request("GET", domain_path(scene))[0] == 200, "the API server serves ComputeDomains", 30)


@pytest.fixture
def manifests() -> Path:
    """Those of NVIDIA's DRA driver, as released (programs/nvidia-manifests)."""
    folder = os.environ.get("CARDCAGE_CLUSTER_MANIFESTS")
    if not folder:
        pytest.skip("the module proxy did not deliver the manifests of NVIDIA's DRA driver")
    return Path(folder)


@pytest.fixture
def domain(scene, served) -> Iterator[str]:
    """The UID of a ComputeDomain from NVIDIA's documentation. Deleting the domain must delete its template."""
    scene.apply({"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomain", "metadata": {"name": "my-compute-domain"},
                 "spec": {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": "imex-channel-0"}}}})
    until(lambda: status(scene).get("status") == "Ready", "the domain is ready", 60)
    yield scene.api.get(domain_path(scene, "my-compute-domain"))["metadata"]["uid"]
    scene.api.delete(domain_path(scene, "my-compute-domain"))
    until(lambda: scene.api.get(domain_path(scene, "my-compute-domain")) is None, "the domain is gone", 60)
    assert scene.get("resourceclaimtemplates", "imex-channel-0") is None


def status(scene, name: str = "my-compute-domain") -> dict:
    found = scene.api.get(domain_path(scene, name))
    return found.get("status", {}) if found else {}


def ready_on_node() -> dict:
    """The status of a domain with a channel on the node."""
    return {"status": "Ready", "nodes": [{"name": NODE, "cliqueID": CLIQUE, "ipAddress": NODE_ADDRESS, "index": 0, "status": "Ready"}]}


def channel_claim(name: str, uid: str) -> dict:
    made = claim(name, request(name="channel", device_class=CLASS))
    made["metadata"]["labels"] = {LABEL: uid}
    made["spec"]["devices"]["config"] = [{"opaque": {"driver": DRIVER, "parameters": {
        "apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomainChannelConfig", "domainID": uid}}}]
    return made


def user(name: str, **claimed: str) -> dict:
    return pod(name, [container(claims=[{"name": "channel"}])], [use("channel", **claimed)])


def channels(scene, name: str) -> dict[str, str]:
    """The IMEX channels in a container, with their decimal numbers."""
    return {path: ":".join(str(int(part, 16)) for part in numbers.split(":"))
            for path, numbers in sees(scene, name)["nodes"].items() if "imex" in path}


def test_the_published_channel(daemon, channel):
    [device] = daemon.devices(DRIVER)
    assert device["attributes"] == {"type": {"string": "channel"}, "id": {"int": 0}, "nvidia.cardcage.dev/clique": {"string": CLIQUE}}


def test_a_pod_of_the_template(scene, domain):
    scene.apply(user("worker", template="imex-channel-0"))
    scene.wait_running("worker", seconds=60)
    assert channels(scene, "worker") == {CHANNEL: "236:0"}
    assert not (ROOT / "dev/nvidia-caps-imex-channels").exists(), "the node itself needs no device node"
    until(lambda: status(scene) == ready_on_node(), "the domain lists the node", 60)
    scene.delete("pods", "worker")
    scene.wait_gone("pods", "worker")
    until(lambda: "nodes" not in status(scene), "the domain has no node any more", 60)


def test_two_pods_of_one_domain_and_one_of_none(scene, domain):
    scene.apply(channel_claim("shared", domain), user("first", claim="shared"), user("second", claim="shared"), pod("stranger"))
    scene.wait_running("first", "second", "stranger", seconds=60)
    assert channels(scene, "first") == channels(scene, "second") == {CHANNEL: "236:0"}
    assert channels(scene, "stranger") == {}
    scene.delete("pods", "first", "second")
    scene.wait_gone("pods", "first", "second")


def test_a_node_gives_its_channel_to_one_claim(scene, domain):
    scene.apply(user("first", template="imex-channel-0"))
    scene.wait_running("first", seconds=60)
    scene.apply(user("second", template="imex-channel-0"))
    until(lambda: any("cannot allocate all claims" in text for text in scene.events("FailedScheduling", "second")), "the second claim waits", 60)
    scene.delete("pods", "first")
    scene.wait_gone("pods", "first")
    scene.wait_running("second", seconds=120)
    assert channels(scene, "second") == {CHANNEL: "236:0"}
    scene.delete("pods", "second")
    scene.wait_gone("pods", "second")


def test_the_daemon_is_lost_during_a_pod_and_returns(scene, daemon, domain):
    """The pod keeps its channel meanwhile, since the daemon recovers by itself."""
    def taints() -> list[tuple]:
        [device] = daemon.devices(DRIVER)
        return [(taint["key"], taint["value"], taint["effect"]) for taint in device.get("taints", [])]

    scene.apply(user("worker", template="imex-channel-0"))
    scene.wait_running("worker", seconds=60)
    scene.wait_health("worker", "Healthy", 60)
    until(lambda: status(scene) == ready_on_node(), "the domain lists the node", 60)
    fake("end-imex")
    try:
        scene.wait_health("worker", "Unhealthy", 120)
        until(lambda: taints() == [("compute-domain.nvidia.com/imex", "UNAVAILABLE", "NoSchedule")], "the channel has a taint", 60)
        until(lambda: [status(scene)["status"], status(scene)["nodes"][0]["status"]] == ["NotReady", "NotReady"], "the domain is not ready", 60)
        assert channels(scene, "worker") == {CHANNEL: "236:0"}
    finally:
        fake("imex", "READY")
    scene.wait_health("worker", "Healthy", 120)
    until(lambda: taints() == [] and status(scene) == ready_on_node(), "the domain is ready again", 60)
    scene.delete("pods", "worker")
    scene.wait_gone("pods", "worker")


@pytest.mark.parametrize("file", ["channel-injection.yaml", "channel-injection-all.yaml"])
def test_examples_of_nvidia_run_unchanged(scene, served, manifests, file):
    """With allocationMode All, too, a container gets channel 0, as with NVIDIA's driver where nodes run their own daemon."""
    load_ubuntu()
    domain, pod, *more = yaml.safe_load_all((manifests / file).read_text())
    assert [domain["kind"], pod["kind"], more] == ["ComputeDomain", "Pod", []]
    name = domain["metadata"]["name"]
    kubectl("apply", f"--namespace={scene.namespace}", "-f", str(manifests / file))
    scene.wait_running(pod["metadata"]["name"], seconds=120)
    scene.wait_log(pod["metadata"]["name"], r"^crw-rw-rw- .* 236, +0 .* channel0$")
    assert re.findall("channel[0-9]+", scene.logs(pod["metadata"]["name"])) == ["channel0"]
    until(lambda: status(scene, name) == ready_on_node(), "the domain lists the node", 60)
    kubectl("delete", f"--namespace={scene.namespace}", "-f", str(manifests / file), seconds=120)
    assert scene.get("resourceclaimtemplates", domain["spec"]["channel"]["resourceClaimTemplate"]["name"]) is None


def test_the_kind_is_that_of_nvidia(scene, served, manifests):
    """Fields, defaults and limits; texts and columns of kubectl may differ."""
    def schema(versions: list[dict]) -> dict:
        return {version["name"]: without_texts(version["schema"]) for version in versions if version["served"]}

    def without_texts(value):
        if isinstance(value, list):
            return sorted((without_texts(item) for item in value), key=str)
        if isinstance(value, dict):
            return {key: without_texts(item) for key, item in value.items() if key != "description"}
        return value

    theirs = yaml.safe_load((manifests / "resource.nvidia.com_computedomains.yaml").read_text())
    ours = scene.api.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/computedomains.resource.nvidia.com")
    assert schema(ours["spec"]["versions"]) == schema(theirs["spec"]["versions"])
    assert ours["spec"]["names"] == theirs["spec"]["names"] and ours["spec"]["scope"] == theirs["spec"]["scope"]


def test_a_pod_waits_for_the_daemon(scene, domain):
    fake("imex", "WAITING_FOR_PEERS")
    try:
        scene.apply(user("worker", template="imex-channel-0"))
        until(lambda: any("WAITING_FOR_PEERS" in text for text in scene.events("FailedPrepareDynamicResources", "worker"))
              or any("cannot allocate all claims" in text for text in scene.events("FailedScheduling", "worker")),
              "the pod waits for the daemon, or for a node without the taint", 120)
    finally:
        fake("imex", "READY")
    scene.wait_running("worker", seconds=180)  # a kubelet tries again after 60 to 90 s
    assert channels(scene, "worker") == {CHANNEL: "236:0"}
    scene.delete("pods", "worker")
    scene.wait_gone("pods", "worker")


def test_a_domain_that_cannot_be_one_is_refused(scene, channel):
    wrong = channel_claim("wrong", "../../etc")
    wrong["metadata"].pop("labels")
    scene.apply(wrong, user("worker", claim="wrong"))
    until(lambda: any("must be the UID of a ComputeDomain" in text for text in scene.events("FailedPrepareDynamicResources", "worker")),
          "the pod's event says what is wrong", 60)
    scene.delete("pods", "worker")
    scene.wait_gone("pods", "worker")
