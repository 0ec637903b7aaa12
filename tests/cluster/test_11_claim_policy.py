"""What a stolen token of a node's daemon can do to the status of claims. These tests use the rights that claimStatus and
bindingConditions of the chart give on Kubernetes up to 1.35, where RBAC does not distinguish a status from an allocation."""

import json

import pytest

from api import RESOURCES
from changed_release import vendor_module
from kubectl import apply, kubectl
from node import NODE
from test_10_access import USER
from waiting import until

OWN, OTHER = "own.example.com", "other.example.com"
# Before Kubernetes 1.36 there are no such resources, and `patch resourceclaims/status` is enough.
OLD_RIGHTS = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "cardcage-before-1-36"}, "rules": [
    {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims/binding"], "verbs": ["patch", "update"]},
    {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims/driver"], "verbs": ["arbitrary-node:patch"]}]}
OLD_BINDING = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "cardcage-before-1-36"},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cardcage-before-1-36"},
               "subjects": [{"kind": "User", "name": USER}]}


@pytest.fixture(scope="module", params=["claimStatus", "bindingConditions"], autouse=True)
def rights(daemon, request):
    daemon.apply({request.param: {"enabled": True}, "vendorModules": [vendor_module("own", {"devices": ["gpu:2"]}, drivers=(OWN,))]})
    apply(OLD_RIGHTS, OLD_BINDING)
    yield
    kubectl("delete", "clusterrole,clusterrolebinding", "cardcage-before-1-36")
    daemon.apply()


def result(driver: str, device: str = "gpu-0") -> dict:
    return {"request": "gpu", "driver": driver, "pool": NODE, "device": device}


def entry(driver: str, device: str = "gpu-0") -> dict:
    return {"driver": driver, "pool": NODE, "device": device,
            "conditions": [{"type": "Ready", "status": "True", "reason": "Test", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}


def consumer(name: str) -> dict:
    return {"apiGroup": "example.com", "resource": "things", "name": name, "uid": name}


def allocation(node: str) -> dict:
    return {"devices": {"results": [result(OWN), result(OWN, "gpu-1"), result(OTHER)]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]}}


@pytest.fixture
def claim_on(scene):
    """A function that makes a claim and allocates it to a node, as the scheduler does."""
    def make(node: str | None) -> str:
        name = f"on-{node or 'none'}"
        scene.apply({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}, "spec": {"devices": {
            "requests": [{"name": "gpu", "exactly": {"deviceClassName": "any", "count": 3}}]}}})
        if node:
            # Not a pod: the controller manager would find that it does not exist.
            status = {"allocation": allocation(node), "reservedFor": [consumer("keeper")]}
            kubectl("patch", "resourceclaim", name, f"--namespace={scene.namespace}", "--subresource=status", "--type=merge",
                    "-p", json.dumps({"status": status}))
        return name
    return make


def patch(scene, name: str, status: dict, node: str | None = NODE, version: str = "v1", kind: str = "merge-patch+json") -> tuple[int, str]:
    """Tries to patch the status as the daemon whose token names the node; returns the result of the dry run."""
    user = {"Impersonate-User": USER, "Content-Type": f"application/{kind}"}
    if node:
        user["Impersonate-Extra-authentication.kubernetes.io%2Fnode-name"] = node
    path = f"{RESOURCES.rsplit('/', 1)[0]}/{version}/namespaces/{scene.namespace}/resourceclaims/{name}/status?dryRun=All"
    body = {"apiVersion": f"resource.k8s.io/{version}", "kind": "ResourceClaim", "metadata": {"name": name}, "status": status}
    if kind.startswith("apply"):
        path += "&fieldManager=test&force=true"
    code, text = scene.api.request("PATCH", path, body, user)
    return code, json.loads(text).get("message", "")


@pytest.fixture(autouse=True)
def policy(scene, claim_on):
    """The API server takes a moment to apply new rights and a new policy."""
    name = claim_on("probe")
    until(lambda: patch(scene, name, {"reservedFor": []})[0] == 422, "the API server applies the policy", 30)
    until(lambda: patch(scene, claim_on(NODE), {"devices": [entry(OWN)]})[0] == 200, "the API server applies the rights", 30)


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_own_entries_of_a_claim_on_the_own_node(scene, claim_on, version):
    name = claim_on(NODE)
    assert patch(scene, name, {"devices": [entry(OWN)]}, version=version) == (200, "")
    assert patch(scene, name, {"devices": [entry(OWN), entry(OWN, "gpu-1")]}, version=version, kind="apply-patch+yaml") == (200, "")


@pytest.mark.parametrize("change", [{"allocation": None, "reservedFor": None}, {"reservedFor": [consumer("mine")]}, {"reservedFor": None}],
                         ids=["no allocation", "another consumer", "no consumer"])
def test_nothing_of_the_allocation_changes(scene, claim_on, change):
    """An allocation is never changed, but removed and made again."""
    code, message = patch(scene, claim_on(NODE), change)
    assert code == 422 and "may not change the allocation of a ResourceClaim" in message


def test_no_node_takes_a_claim(scene, claim_on):
    code, message = patch(scene, claim_on(None), {"allocation": allocation(NODE)})
    assert code == 422 and "may not change the allocation of a ResourceClaim" in message


def test_claims_of_other_nodes_stay_as_they_are(scene, claim_on):
    code, message = patch(scene, claim_on("node2"), {"devices": [entry(OWN)]})
    assert code == 422 and f"cardcage on node '{NODE}' may not write the status of a ResourceClaim that is allocated to node 'node2'" in message
    code, message = patch(scene, claim_on(NODE), {"devices": [entry(OWN)]}, node=None)
    assert code == 422 and "the token of cardcage names no node" in message


def test_entries_of_other_drivers_stay_as_they_are(scene, claim_on):
    name = claim_on(NODE)
    for devices in ([entry(OTHER)], [entry(OWN), entry(OTHER)]):
        code, message = patch(scene, name, {"devices": devices})
        assert code == 403 and "may not write the status of devices of driver" in message
    kubectl("patch", "resourceclaim", name, f"--namespace={scene.namespace}", "--subresource=status", "--type=merge",
            "-p", json.dumps({"status": {"devices": [entry(OTHER)]}}))
    assert patch(scene, name, {"devices": []})[0] == 403, "nor removed"
    assert patch(scene, name, {"devices": [entry(OTHER), entry(OWN)]}) == (200, "")


def test_a_write_that_changes_nothing_is_taken(scene, claim_on):
    """Like the daemon when it removes entries that have already gone with the allocation."""
    assert patch(scene, claim_on(None), {"devices": []}, kind="apply-patch+yaml") == (200, "")
    assert patch(scene, claim_on("node2"), {"devices": []}, kind="apply-patch+yaml") == (200, "")


def test_the_expressions_are_typed(cluster):
    """The controller manager checks them against the schema of claims."""
    def checked():
        policy = cluster.api.get("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/cardcage-claim-status")
        return policy["status"] if policy.get("status", {}).get("observedGeneration") else None
    status = until(checked, "the policy is checked", 30)
    assert not status["typeChecking"].get("expressionWarnings"), status
