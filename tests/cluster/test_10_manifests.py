"""The permissions that config/kubernetes gives the daemon, as the API server applies them: exactly those that it needs."""

import json
import shutil

import pytest

from api import RESOURCES
from daemon import SOURCE
from kubectl import kubectl
from node import NODE
from waiting import until

USER = "system:serviceaccount:cardcage:cardcage"


@pytest.fixture(scope="module", autouse=True)
def access(cluster):
    """Applies the access rules and the policy, without a daemon."""
    base = SOURCE / "config/kubernetes/base"
    kubectl("apply", "-f", str(base / "namespace.yaml"))
    kubectl("apply", "--namespace=cardcage", "-f", str(base / "access.yaml"), "-f", str(base / "admission-policy.yaml"))


@pytest.mark.parametrize("component, expected", [
    ("node-feature-discovery", ["mountPath: /etc/kubernetes/node-feature-discovery/features.d"]),
    ("services", ["hostPID: true", "mountPath: /sys/fs/cgroup/cardcage"]),
    ("driver-root", ["mountPath: /run/nvidia/driver"]),
    ("early-claims", ["name: cardcage-early-claims", "resources:\n  - pods"]),
    ("claim-status", ["resourceclaims/driver", "driver.example.com"]),
    ("network-devices", ["mountPath: /var/run/nri", "mountPath: /var/run/netns"]),
    ("nvidia-mps", ["mountPropagation: Bidirectional", "mountPath: /run/nvidia/mps"]),
])
def test_components_add_what_some_nodes_need(cluster, tmp_path, component, expected):
    shutil.copytree(SOURCE / "config/kubernetes", tmp_path / "kubernetes")
    mine = tmp_path / "kubernetes/mine"
    mine.mkdir()
    (mine / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../mock]\n"
        f"components: [../components/{component}]\n")
    without = kubectl("kustomize", str(mine.parent / "mock"))
    manifests = kubectl("kustomize", str(mine))
    for line in expected:
        assert line in manifests and line not in without
    kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=daemon_set_of(manifests))


def test_the_status_of_claims_is_for_named_drivers_on_the_own_node(cluster):
    """The component that modules need which state something: applied alone, and taken away again."""
    file = SOURCE / "config/kubernetes/components/claim-status/access.yaml"
    kubectl("apply", "-f", str(file))
    try:
        group = "resource.k8s.io"
        until(lambda: allowed(cluster, "patch", group, "resourceclaims", "status"), "the role holds", 10)
        assert not allowed(cluster, "update", group, "resourceclaims", "status")
        assert not allowed(cluster, "patch", group, "resourceclaims")
        assert not allowed(cluster, "patch", group, "resourceclaims", "binding")
        assert allowed(cluster, "associated-node:patch", group, "resourceclaims", "driver", name="driver.example.com")
        assert not allowed(cluster, "associated-node:patch", group, "resourceclaims", "driver", name="other.example.com")
        assert not allowed(cluster, "arbitrary-node:patch", group, "resourceclaims", "driver", name="driver.example.com")
    finally:
        kubectl("delete", "-f", str(file))


def test_binding_conditions_add_what_the_daemon_may_do(cluster, tmp_path):
    shutil.copytree(SOURCE / "config/kubernetes", tmp_path / "kubernetes")
    mine = tmp_path / "kubernetes/mine"
    mine.mkdir()
    (mine / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../mock]\n"
        "components: [../components/binding-conditions]\npatches:\n"
        "  - target: {kind: ClusterRole, name: cardcage-binding-conditions}\n"
        "    patch: |\n      - {op: replace, path: /rules/2/resourceNames, value: [gpu.mock.cardcage.dev]}\n")
    manifests = kubectl("kustomize", str(mine))
    assert "associated-node:patch" in manifests and "driver.example.com" not in manifests
    kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=access_of(manifests))


def access_of(manifests: str) -> str:
    parts = [part for part in manifests.split("\n---\n") if "kind: ClusterRole\n" in part]
    return "\n---\n".join(part for part in parts if "cardcage-binding-conditions" in part)


def daemon_set_of(manifests: str) -> str:
    """The other objects are in a namespace that exists only once they are applied for good."""
    return next(part for part in manifests.split("\n---\n") if "kind: DaemonSet" in part)


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
