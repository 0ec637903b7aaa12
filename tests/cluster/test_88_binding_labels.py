"""Claims that wait for devices of a node, found by the labels of cardcage-fleet; see docs/decisions/0049-*.md."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from api import RESOURCES
from audit import requests
from binding import ATTACHED, FABRIC, SLOW, fabric_modules, held, start, statuses
from changed_release import changed_release
from daemon import NAMESPACE
from mock import allocated
from node import NODE
from waiting import until

LABEL = "cardcage.dev/binding-node"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/cardcage-fleet"
FLEET = {"Impersonate-User": f"system:serviceaccount:{NAMESPACE}:cardcage-fleet", "Content-Type": "application/merge-patch+json"}


def watches(since: int) -> list[str]:
    """The label selector of each watch of claims that the daemon began after the first `since` requests; "" for all claims."""
    begun = [urlsplit(event["requestURI"]).query for event in requests()[since:]
             if event["stage"] == "ResponseStarted" and event["verb"] == "watch" and event["objectRef"]["resource"] == "resourceclaims"]
    return [parse_qs(query).get("labelSelector", [""])[0] for query in begun]


@pytest.fixture(scope="module", autouse=True)
def labelled(cluster, daemon):
    """A daemon that has started while the fleet said that all labels are complete."""
    values = {"vendorModules": fabric_modules(), "bindingConditions": {"enabled": True}, "fleet": {"enabled": True}}
    with changed_release(cluster, daemon, values):
        until(lambda: cluster.api.get(LEASE)["spec"].get("renewTime"), "the fleet has renewed its Lease", 90)
        before = len(requests())
        daemon.kill()
        until(lambda: daemon.devices(FABRIC) and daemon.devices(SLOW), "the devices are published", 20)
        until(lambda: watches(before), "the daemon watches claims", 30)
        assert set(watches(before)) == {f"{LABEL}={NODE}"}, "the daemon watches the claims of its node only"
        yield


def label_of(scene, name: str) -> str | None:
    return scene.get("resourceclaims", name)["metadata"].get("labels", {}).get(LABEL)


def test_a_labelled_claim_is_bound_and_loses_its_label(scene, daemon):
    start(scene, "found", FABRIC, cel=f"device.attributes['{FABRIC}'].index == 1")
    until(lambda: label_of(scene, "found") == NODE, "the fleet labels the claim", 30)
    scene.wait_running("found", seconds=60)
    assert allocated(scene.get("resourceclaims", "found")) == ["gpu-1"] and statuses(scene, "found")[ATTACHED] == "True"
    scene.delete("pods", "found")
    scene.wait_gone("pods", "found")
    until(lambda: label_of(scene, "found") is None, "the fleet removes the label from the claim without devices", 30)
    until(lambda: not held("fabric"), "the device is released", 20)


def test_a_claim_that_is_given_up_is_released(scene):
    start(scene, "impatient", SLOW)
    until(lambda: held("slow"), "the module makes the device ready", 30)
    scene.delete("pods", "impatient")
    scene.wait_gone("pods", "impatient")
    until(lambda: not held("slow"), "the module has released the device", 60)


def test_the_fleet_may_change_this_label_only(cluster, scene):
    start(scene, "guarded", SLOW)
    path = f"{RESOURCES}/namespaces/{scene.namespace}/resourceclaims/guarded?dryRun=All"

    def patch(metadata: dict) -> tuple[int, str]:
        status, body = cluster.api.request("PATCH", path, {"metadata": metadata}, FLEET)
        return status, json.loads(body).get("message", "")

    assert patch({"labels": {LABEL: "elsewhere"}})[0] == 200
    status, message = patch({"labels": {"team": "robots"}})
    assert status == 422 and "cardcage-fleet may change the label cardcage.dev/binding-node of a ResourceClaim only" in message
    assert patch({"annotations": {"note": "mine"}})[0] == 422
    scene.delete("pods", "guarded")
    scene.wait_gone("pods", "guarded")
    until(lambda: not held("slow"), "the module has released the device", 60)
