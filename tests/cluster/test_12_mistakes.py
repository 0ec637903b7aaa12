"""Mistakes of installation: each shows where docs/troubleshooting.md says, and none causes a crash loop."""

import re
import time

import pytest

import images
from daemon import NAMESPACE, image_archive
from kubectl import kubectl
from mock import assert_not_given, cdi_edits, claim, use
from scene import container, pod
from waiting import until


@pytest.fixture(autouse=True)
def restored(daemon):
    yield
    daemon.apply()


def newest_pod(daemon) -> dict:
    return max(daemon.pods(), key=lambda found: found["metadata"]["creationTimestamp"])


def restarts(daemon) -> int:
    return sum(status["restartCount"] for found in daemon.pods() for status in found["status"].get("containerStatuses", []))


def test_another_folder_of_the_kubelet_shows_in_an_event_and_the_daemon_goes_on(daemon):
    serving = daemon.wait_ready()
    daemon.request({"kubeletRootDir": "/var/lib/k0s/kubelet"})
    new = until(lambda: next((found for found in daemon.pods() if found["metadata"]["name"] != serving), None), "the next pod is made", 20)

    def told():
        events = daemon.api.items(f"/api/v1/namespaces/{NAMESPACE}/events", fieldSelector=f"involvedObject.name={new['metadata']['name']}")
        return next((event["message"] for event in events if event["reason"] == "FailedMount"), "")
    assert re.search(r'hostPath type check failed\W+/var/lib/k0s/kubelet\S* is not a directory', until(told, "the event of the pod", 30))
    assert daemon.ready_pod() == serving and restarts(daemon) == 0


def test_an_image_without_the_module_shows_in_the_status(daemon):
    without = images.Layer().file("/usr/lib/cardcage/modules/.wh.libcardcage_mock.so", b"")
    images.load(images.variant(image_archive(), "cardcage:without-mock", without))
    serving = daemon.wait_ready()
    daemon.request({"image": {"tag": "without-mock"}})
    until(lambda: serving not in [found["metadata"]["name"] for found in daemon.pods()], "the previous daemon has ended", 60)
    new = newest_pod(daemon)["metadata"]["name"]

    def modules():
        return kubectl("exec", f"--namespace={NAMESPACE}", new, "--", "/usr/bin/cagectl", "modules", check=False)
    until(lambda: "cannot open module file '/usr/lib/cardcage/modules/libcardcage_mock.so'" in modules(), "cagectl modules says why", 30)
    time.sleep(5)  # lets a restart show
    assert restarts(daemon) == 0


def test_a_runtime_without_cdi_starts_containers_without_their_devices(cluster, daemon, scene):
    """As docs/troubleshooting.md says, there is no event; once a release of containerd reports it, the page can say so."""
    cluster.use_cdi(False)
    try:
        scene.apply(claim("quiet"), pod("quiet", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="quiet")]))
        scene.wait_running("quiet")
        edits = cdi_edits(daemon, scene.get("resourceclaims", "quiet")["metadata"]["uid"])
        env = {entry for each in edits.values() for entry in each.get("env", [])}
        assert env, "the claim is prepared"
        assert_not_given(scene, env, "quiet", "main")
    finally:
        cluster.use_cdi(True)
    scene.delete("pods", "quiet")
    scene.wait_gone("pods", "quiet")
