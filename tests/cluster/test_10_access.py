"""The permissions that the chart gives the daemon, as the API server applies them: exactly those that it needs."""

import json

import pytest

from api import RESOURCES
from node import NODE
from waiting import until

USER = "system:serviceaccount:cardcage:cardcage"


@pytest.fixture(scope="module", autouse=True)
def access(daemon):
    """The release has access rules and the policy."""


def test_the_status_of_claims_is_for_named_drivers_on_the_own_node(cluster, daemon):
    """The right for modules that make statements: granted alone, and revoked again."""
    daemon.apply({"claimStatus": {"enabled": True}})
    try:
        group, driver = "resource.k8s.io", "gpu.mock.cardcage.dev"
        until(lambda: allowed(cluster, "patch", group, "resourceclaims", "status"), "the role holds", 10)
        assert not allowed(cluster, "update", group, "resourceclaims", "status")
        assert not allowed(cluster, "patch", group, "resourceclaims")
        assert not allowed(cluster, "patch", group, "resourceclaims", "binding")
        assert allowed(cluster, "associated-node:patch", group, "resourceclaims", "driver", name=driver)
        assert not allowed(cluster, "associated-node:patch", group, "resourceclaims", "driver", name="other.example.com")
        assert not allowed(cluster, "arbitrary-node:patch", group, "resourceclaims", "driver", name=driver)
    finally:
        daemon.apply()
    until(lambda: not allowed(cluster, "patch", group, "resourceclaims", "status"), "the role is gone", 10)


def allowed(cluster, verb: str, group: str, resource: str, subresource: str = "", name: str = "") -> bool:
    review = cluster.api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": {
        "user": USER, "resourceAttributes": {"verb": verb, "group": group, "resource": resource, "subresource": subresource, "name": name}}})
    return review["status"]["allowed"]


@pytest.mark.parametrize("resource, group, verbs", [
    ("resourceclaims", "resource.k8s.io", {"get"}),
    ("resourceslices", "resource.k8s.io", {"get", "list", "watch", "create", "update", "delete"}),
    ("nodes", "", {"get"}),
    ("events", "", {"create", "patch"}),
    ("events", "events.k8s.io", set()),
    ("pods", "", set()),
    ("secrets", "", set()),
    ("configmaps", "", set()),
    ("deviceclasses", "resource.k8s.io", set()),
])
def test_access_is_exact(cluster, resource, group, verbs):
    every = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
    assert {verb for verb in every if allowed(cluster, verb, group, resource)} == verbs


def test_claim_status_may_not_be_written(cluster):
    assert not allowed(cluster, "update", "resource.k8s.io", "resourceclaims", "status")


def create_slice(cluster, slice_node: str, user_node: str | None, version: str = "v1") -> tuple[int, str]:
    """Tries to create a slice as the daemon whose token names user_node; returns the result of the dry run."""
    user = {"Impersonate-User": USER}
    if user_node:
        user["Impersonate-Extra-authentication.kubernetes.io%2Fnode-name"] = user_node
    status, body = cluster.api.request("POST", f"{RESOURCES.rsplit('/', 1)[0]}/{version}/resourceslices?dryRun=All", {
        "apiVersion": f"resource.k8s.io/{version}", "kind": "ResourceSlice", "metadata": {"generateName": "policy-"},
        "spec": {"driver": "gpu.mock.cardcage.dev", "nodeName": slice_node,
                 "pool": {"name": slice_node, "generation": 1, "resourceSliceCount": 1}, "devices": []}}, user)
    return status, json.loads(body).get("message", "")


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_own_node_only(cluster, version):
    # The API server takes a moment to apply a new policy.
    until(lambda: create_slice(cluster, "node2", NODE, version)[0] == 422, "the API server applies the policy", 30)
    status, message = create_slice(cluster, "node2", NODE, version)
    assert "cardcage on node 'node1' may not touch a ResourceSlice of node 'node2'" in message
    assert create_slice(cluster, NODE, NODE, version) == (201, "")
    status, message = create_slice(cluster, NODE, None, version)
    assert status == 422 and "the token of cardcage names no node" in message


def create_event(cluster, about: str, user_node: str | None, namespace: str = "default") -> tuple[int, str]:
    """Tries to create an Event on the Node `about` as the daemon whose token names user_node; returns the result of the dry run."""
    user = {"Impersonate-User": USER}
    if user_node:
        user["Impersonate-Extra-authentication.kubernetes.io%2Fnode-name"] = user_node
    status, body = cluster.api.request("POST", f"/api/v1/namespaces/{namespace}/events?dryRun=All", {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": f"{about}.policy", "namespace": namespace},
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": about, "uid": about},
        "type": "Normal", "reason": "DeviceBack", "message": "gpu-0 is back"}, user)
    return status, json.loads(body).get("message", "")


def test_events_on_the_own_node_only(cluster):
    until(lambda: create_event(cluster, "node2", NODE)[0] == 422, "the API server applies the policy", 30)
    status, message = create_event(cluster, "node2", NODE)
    assert "cardcage on node 'node1' may write Events on this Node only" in message
    assert create_event(cluster, NODE, NODE)[0] == 201
    status, message = create_event(cluster, NODE, None)
    assert status == 422 and "the token of cardcage names no node" in message
    status, message = create_event(cluster, NODE, NODE, "kube-system")
    assert status == 422
