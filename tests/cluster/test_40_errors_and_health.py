"""What a user reads when it does not work, and about the health of what does."""

from mock import cdi_edits, claim, use
from scene import container, pod
from waiting import until


def test_claim_that_cannot_be_prepared_says_why(scene, daemon):
    scene.apply(claim("bad", parameters={"noSuchOption": 1}),
                pod("user", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="bad")]))
    [text, *_] = until(lambda: scene.events("FailedPrepareDynamicResources", "user"), "the event about the claim", 30)
    assert "bad" in text and "noSuchOption" in text and "mock" in text, text
    uid = scene.get("resourceclaims", "bad")["metadata"]["uid"]
    assert not daemon.cdi_files(uid)
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")


def test_device_that_fails_prepare_says_why(scene, daemon):
    scene.apply(claim("broken", parameters={"fail": "the fan is stuck"}),
                pod("user", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="broken")]))
    [text, *_] = until(lambda: scene.events("FailedPrepareDynamicResources", "user"), "the event about the claim", 30)
    assert "broken" in text and "the fan is stuck" in text, text
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")


def test_health_is_in_the_pod_status(scene, daemon):
    scene.apply(claim("well"), pod("user", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="well")]))
    scene.wait_running("user")
    uid = scene.get("resourceclaims", "well")["metadata"]["uid"]

    def healthy():
        status = scene.get("pods", "user")["status"]["containerStatuses"][0]
        [resource] = status["allocatedResourcesStatus"]
        [device] = resource["resources"]
        assert device["health"] == "Healthy", status["allocatedResourcesStatus"]
        return resource["name"], device["resourceID"]

    name, resource_id = until(healthy, "kubelet says Healthy", 45)
    assert name.split("/")[0] == "claim:gpu"
    assert resource_id in cdi_edits(daemon, uid), "the id of this device alone: kubelet merges devices whose first id is the same"
