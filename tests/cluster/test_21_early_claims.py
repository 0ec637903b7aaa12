"""Claims that the daemon reads before the kubelet asks to prepare them. A container must get the devices that its claim has
now, whatever the claim had before."""

import pytest

from mock import allocated, assert_given, cdi_edits, claim, template, use
from scene import Scene, container, pod
from waiting import until


def user(name: str, claim: str = "", template: str = "", mounts: list[dict] | None = None, **spec) -> dict:
    return pod(name, [container(claims=[{"name": "gpu"}], volumeMounts=mounts or [])], [use("gpu", claim, template)], **spec)


@pytest.fixture
def early_claims(daemon):
    """Starts another daemon, which has not been refused yet."""
    daemon.apply({"earlyClaims": {"enabled": True}})
    daemon.kill()
    yield
    daemon.apply()


@pytest.fixture
def reads(daemon):
    """Counts the claims that were read before the kubelet's call ("early") and during it ("late")."""
    def counts() -> dict:
        return {when: daemon.metric("cardcage_claim_reads_total", when=when) for when in ("early", "late")}

    before = counts()
    return lambda: {when: count - before[when] for when, count in counts().items()}


def device_of(scene: Scene, daemon, pod_name: str, claim_name: str) -> str:
    """The device of the claim. It must be the device that the container got."""
    scene.wait_running(pod_name)
    found = scene.get("resourceclaims", claim_name)
    uid, [device] = found["metadata"]["uid"], allocated(found)
    assert [name.rpartition("=")[2] for name in cdi_edits(daemon, uid)] == [f"{uid}-{device}"]
    assert_given(scene, daemon, uid, pod_name)
    return device


def test_a_claim_of_a_template_is_read_late_without_the_right_to_read_pods(scene, daemon, reads):
    scene.apply(claim("direct"), template("made"), user("by-name", "direct"), user("by-template", template="made"))
    scene.wait_running("by-name", "by-template")
    assert reads() == {"early": 1, "late": 1}


def test_the_claims_of_a_pod_are_there_when_the_kubelet_asks(scene, daemon, early_claims, reads):
    scene.apply(claim("direct"), template("made"), user("by-name", "direct"), user("by-template", template="made"))
    scene.wait_running("by-name", "by-template")
    assert reads() == {"early": 2, "late": 0}
    device_of(scene, daemon, "by-name", "direct")


def test_a_claim_that_was_allocated_anew(scene, daemon, cluster):
    """The first pod of the claim waits for a missing volume, so its claim is read but never prepared."""
    until(lambda: not cluster.api.items("/apis/resource.k8s.io/v1/resourceclaims"), "earlier tests hold no device", 60)
    never = [{"name": "never", "configMap": {"name": "missing"}}]
    scene.apply(claim("moves"), user("stuck", "moves", mounts=[{"name": "never", "mountPath": "/never"}], volumes=never))
    first = until(lambda: allocated(scene.get("resourceclaims", "moves")), "the claim is allocated", 20)
    until(lambda: scene.events("FailedMount", "stuck"), "the kubelet waits for the volume", 20)
    cluster.api.delete(scene.path("pods", "stuck"), grace_seconds=0)
    until(lambda: not allocated(scene.get("resourceclaims", "moves")), "the claim is deallocated", 20)
    scene.apply(claim("taker"), user("taker", "taker"))
    assert [device_of(scene, daemon, "taker", "taker")] == first, "the device that is free again"
    scene.apply(user("next", "moves"))
    assert device_of(scene, daemon, "next", "moves") not in first


def test_a_claim_that_was_deleted_and_recreated(scene, daemon):
    scene.apply(claim("again"), user("first", "again"))
    device_of(scene, daemon, "first", "again")
    scene.delete("resourceclaims", "again")  # it is deleted with its last pod
    scene.delete("pods", "first")
    scene.wait_gone("pods", "first")
    scene.wait_gone("resourceclaims", "again")
    scene.apply(claim("again"), user("second", "again"))
    device_of(scene, daemon, "second", "again")
