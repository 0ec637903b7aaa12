"""The page of all nodes: what it shows about this node's devices, and to whom."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from api import RESOURCES
from daemon import NAMESPACE
from dra_features import index_is
from kubectl import apply, kubectl
from mock import DRIVER, claim, use
from mock import request as requested
from node import NODE
from scene import container, pod
from waiting import until

SELECTOR = "app.kubernetes.io/name=cardcage-fleet"
PORT = 8443


class FleetPage:
    """The page as a user sees it through the API server, who is not asked for this user's credentials there."""

    def __init__(self, api):
        self.api = api
        self.pod = until(self._ready, "the pod of the page is Ready", 60)
        self.path = f"/api/v1/namespaces/{NAMESPACE}/pods/https:{self.pod['metadata']['name']}:{PORT}/proxy"

    def _ready(self) -> dict | None:
        for found in self.api.items(f"/api/v1/namespaces/{NAMESPACE}/pods", labelSelector=SELECTOR):
            statuses = found["status"].get("containerStatuses", [])
            if statuses and statuses[0]["ready"] and "deletionTimestamp" not in found["metadata"]:
                return found
        return None

    def get(self, path: str, token: str = "") -> tuple[int, str]:
        status, body = self.api.request("GET", self.path + path, user={"X-Cardcage-Token": token} if token else {})
        return status, body.decode()

    def json(self, path: str, token: str) -> dict:
        status, body = self.get(path, token)
        assert status == 200, f"{path}: {status} {body}"
        return json.loads(body)

    def device(self, name: str, token: str) -> dict:
        [found] = [one for one in self.json(f"/api/v1/nodes/{NODE}", token)["devices"] if (one["driver"], one["name"]) == (DRIVER, name)]
        return found


@pytest.fixture(scope="module")
def page(cluster, daemon) -> Iterator[FleetPage]:
    daemon.apply({"fleet": {"enabled": True}})
    try:
        yield FleetPage(cluster.api)
    finally:
        daemon.apply()
        until(lambda: not cluster.api.items(f"/api/v1/namespaces/{NAMESPACE}/pods", labelSelector=SELECTOR), "the page is gone", 60)


def account(scene, name: str) -> str:
    scene.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
    return kubectl("create", "token", name, f"--namespace={scene.namespace}").strip()


@contextmanager
def viewer(scene, page: FleetPage, name: str) -> Iterator[str]:
    """A service account with the role of the chart, and its token."""
    token = account(scene, name)
    binding = f"{scene.namespace}-{name}"
    apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": binding},
           "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cardcage-fleet-viewer"},
           "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": scene.namespace}]})
    try:
        # A refusal of the first moment, before the API server knows the binding, counts for ten seconds.
        until(lambda: page.get("/api/v1/summary", token)[0] == 200, "the viewer may look", 40)
        yield token
    finally:
        kubectl("delete", "clusterrolebinding", binding)


def test_it_shows_the_devices_of_the_node(scene, page, cluster):
    published = sum(len(one["spec"]["devices"]) for one in cluster.api.items(f"{RESOURCES}/resourceslices"))
    with viewer(scene, page, "viewer") as token:
        summary = until(lambda: (found := page.json("/api/v1/summary", token)) and found["devices"] == published and not found["warnings"] and found,
                        "the page shows all published devices", 30)
        assert summary["synced"]
        [row] = page.json(f"/api/v1/nodes?driver={DRIVER}", token)["nodes"]
        assert row["name"] == NODE and row["devices"] == sum(len(one["spec"]["devices"]) for one in cluster.api.slices(DRIVER))
        assert page.device("gpu-0", token)["attributes"]
        status, html = page.get("/", token)
        assert status == 200 and "<html" in html


def test_a_device_is_held_while_a_pod_has_it(scene, page):
    scene.apply(claim("one", requested(cel=index_is(6))),
                pod("user", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="one")]))
    scene.wait_running("user")
    with viewer(scene, page, "watcher") as token:
        device = until(lambda: (found := page.device("gpu-6", token)) and found["state"] == "held" and found, "gpu-6 is held", 20)
        assert device["claims"] == [{"namespace": scene.namespace, "name": "one", "pods": ["user"], "admin": False}]
        scene.delete("pods", "user")
        scene.delete("resourceclaims", "one")
        until(lambda: page.device("gpu-6", token)["state"] == "free", "gpu-6 is free again", 60)


def test_a_cordoned_device(scene, page, daemon):
    with viewer(scene, page, "operator") as token:
        daemon.cagectl("device", "cordon", "gpu-5", "--reason=a test")
        try:
            device = until(lambda: (found := page.device("gpu-5", token)) and found["state"] == "cordoned" and found, "gpu-5 is cordoned", 20)
            assert [(taint["value"], taint["effect"], taint["rule"]) for taint in device["taints"]] == [("Cordoned", "NoSchedule", None)]
        finally:
            daemon.cagectl("device", "uncordon", "gpu-5")
        until(lambda: page.device("gpu-5", token)["state"] == "free", "gpu-5 is free again", 20)


def test_it_goes_on_after_the_api_server_restarts(scene, page, cluster):
    with viewer(scene, page, "patient") as token:
        before = page.json("/api/v1/summary", token)["devices"]
        cluster.restart_api_server()
        until(lambda: page.get("/api/v1/summary", token)[0] == 200, "the page responds through the new API server", 60)
        until(lambda: not page.json("/api/v1/summary", token)["warnings"], "all watches are connected", 90)
        assert page.json("/api/v1/summary", token)["devices"] == before


def test_without_a_token_there_is_only_the_page_for_signing_in(page):
    assert page.get("/api/v1/summary")[0] == 401
    assert page.get("/api/v1/summary", "guessed")[0] == 401


def test_a_user_without_the_right_is_told_which_one(scene, page):
    status, body = page.get("/api/v1/summary", account(scene, "stranger"))
    assert status == 403 and f"system:serviceaccount:{scene.namespace}:stranger may not get fleet.cardcage.dev" in body


@pytest.mark.parametrize("verb, group, resource", [
    ("update", "resource.k8s.io", "resourceslices"), ("create", "resource.k8s.io", "devicetaintrules"), ("get", "", "secrets"), ("list", "", "pods")])
def test_its_service_account_only_reads_devices(cluster, page, verb, group, resource):
    review = {"spec": {"user": f"system:serviceaccount:{NAMESPACE}:cardcage-fleet",
                       "resourceAttributes": {"verb": verb, "group": group, "resource": resource}}}
    assert not cluster.api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)["status"]["allowed"]
