"""The page of a node: behind the API server's proxy, for users who may read it, without commands."""

import json
import ssl
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPSConnection

import pytest

from daemon import NAMESPACE
from kubectl import apply, kubectl
from node import NODE
from waiting import until

SELECTOR = "app.kubernetes.io/name=cardcage-web"
PORT = 8443
# For requests that are not GET; browsers send the Origin by themselves.
COMMAND = {"Content-Type": "application/json", "X-Cardcage-Request": "1", "Sec-Fetch-Site": "same-origin"}


class Page:
    """The page of the node, as a user sees it through the API server, who is not asked for this user's credentials there."""

    def __init__(self, api):
        self.api = api
        self.pod = until(self._ready, "the pod of the page is Ready", 60)
        self.path = f"/api/v1/namespaces/{NAMESPACE}/pods/https:{self.pod['metadata']['name']}:{PORT}/proxy"

    def _ready(self) -> dict | None:
        for pod in self.api.items(f"/api/v1/namespaces/{NAMESPACE}/pods", labelSelector=SELECTOR):
            statuses = pod["status"].get("containerStatuses", [])
            if statuses and statuses[0]["ready"] and "deletionTimestamp" not in pod["metadata"]:
                return pod
        return None

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        status, body = self.api.request("GET", self.path + path, user={name.replace("_", "-"): value for name, value in headers.items()})
        return status, body.decode()

    def post(self, path: str, body: dict, **headers: str) -> tuple[int, str]:
        status, said = self.api.request("POST", self.path + path, body,
                                        {**COMMAND, **{name.replace("_", "-"): value for name, value in headers.items()}})
        return status, said.decode()

    def direct(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str], str]:
        """A request to the pod itself, without the API server."""
        certificate = kubectl("get", "secret", f"--namespace={NAMESPACE}", "cardcage-web-tls", r"--output=jsonpath={.data.tls\.crt}")
        trust = ssl.create_default_context(cadata=b64decode(certificate).decode())
        trust.check_hostname = False  # the certificate names 127.0.0.1, where `kubectl port-forward` listens
        connection = HTTPSConnection(self.pod["status"]["podIP"], PORT, timeout=30, context=trust)
        try:
            connection.request(method, path, "{}" if method == "POST" else None, headers)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read().decode()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def page(cluster, daemon) -> Iterator[Page]:
    daemon.apply({"web": {"enabled": True}})
    try:
        yield Page(cluster.api)
    finally:
        daemon.apply()
        until(lambda: not cluster.api.items(f"/api/v1/namespaces/{NAMESPACE}/pods", labelSelector=SELECTOR), "the pages are gone", 60)


@contextmanager
def reader(scene, name: str, node: str = NODE) -> Iterator[str]:
    """A service account that may read the page of a node, and its token."""
    token = account(scene, name)
    role = f"{scene.namespace}-{name}"
    apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": role},
           "rules": [{"apiGroups": ["cardcage.dev"], "resources": ["nodes"], "resourceNames": [node], "verbs": ["get"]}]},
          {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": role},
           "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
           "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": scene.namespace}]})
    try:
        yield token
    finally:
        kubectl("delete", "clusterrole,clusterrolebinding", role)


def account(scene, name: str) -> str:
    scene.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
    return kubectl("create", "token", name, f"--namespace={scene.namespace}").strip()


def test_a_user_with_the_right_sees_the_node(scene, page):
    with reader(scene, "viewer") as token:
        def seen() -> str:
            status, body = page.get("/api/v1/status", X_Cardcage_Token=token)
            assert status == 200, f"{status} {body}"
            return body

        # A refusal of the first moment, before the API server knows the role, counts for ten seconds.
        assert json.loads(until(seen, "the viewer sees the status", 40))["node"] == NODE
        status, html = page.get("/", X_Cardcage_Token=token)
        assert status == 200 and "<html" in html
        devices = json.loads(page.get("/api/v1/devices", X_Cardcage_Token=token)[1])
        assert any(device["name"] == "gpu-0" for device in devices)


def test_without_a_token_there_is_only_the_page_for_signing_in(page):
    assert page.get("/api/v1/status")[0] == 401
    status, html = page.get("/")
    assert status == 401 and 'src="sign-in.js"' in html
    assert page.get("/sign-in.js")[0] == 200
    assert page.get("/api/v1/status", X_Cardcage_Token="guessed")[0] == 401


def test_a_user_without_the_right_is_told_which_one(scene, page):
    token = account(scene, "stranger")
    status, body = page.get("/api/v1/status", X_Cardcage_Token=token)
    assert status == 403 and f"system:serviceaccount:{scene.namespace}:stranger may not get nodes.cardcage.dev '{NODE}'" in body


def test_the_right_for_another_node_is_not_enough(scene, page):
    with reader(scene, "elsewhere", "node2") as token:
        assert page.get("/api/v1/status", X_Cardcage_Token=token)[0] == 403


def test_a_session_begins_with_a_token_and_ends(scene, page):
    with reader(scene, "person") as token:
        headers = {**COMMAND, "X-Cardcage-Token": token}

        def signed_in() -> str:
            status, answer, body = page.direct("POST", "/session", headers)
            assert status == 200, f"{status} {body}"
            return answer["Set-Cookie"]

        cookie = until(signed_in, "the person signs in", 40)
        assert all(word in cookie for word in ("HttpOnly", "Secure", "SameSite=Strict")) and token not in cookie
        cookie = cookie.partition(";")[0]
        assert page.direct("GET", "/api/v1/status", {"Cookie": cookie})[0] == 200
        assert page.get("/api/v1/status", Cookie=cookie)[0] == 200, "the API server passes the cookie on"
        assert page.direct("POST", "/sign-out", {**COMMAND, "Cookie": cookie})[0] == 200
        assert page.direct("GET", "/api/v1/status", {"Cookie": cookie})[0] == 401


def test_commands_are_refused(scene, page, daemon):
    with reader(scene, "curious") as token:
        until(lambda: page.get("/api/v1/status", X_Cardcage_Token=token)[0] == 200, "the user may look", 40)
        status, body = page.post("/api/v1/actions/cordon", {"device": "gpu-0", "reason": "a test"}, X_Cardcage_Token=token)
        assert status == 403 and "read-only" in body
    [device] = json.loads(daemon.cagectl("devices", "--json", "gpu-0"))
    assert not device.get("cordon")


def test_the_socket_of_the_page_refuses_commands(daemon, page):
    """Even a compromised page could not command the daemon."""
    socket = "/run/cardcage/view/admin.sock"
    assert NODE in daemon.cagectl("--socket", socket, "status")
    said = kubectl("exec", f"--namespace={NAMESPACE}", page.pod["metadata"]["name"], "--", "/usr/bin/cagectl", "--socket", socket,
                   "device", "cordon", "gpu-0", "--reason=a test", check=False)
    assert "this socket only reads" in said


def test_the_pod_has_no_rights_on_its_node(page):
    spec = page.pod["spec"]
    [container] = spec["containers"]
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    assert spec["securityContext"]["runAsNonRoot"] and "hostNetwork" not in spec
    assert [volume["hostPath"]["path"] for volume in spec["volumes"] if "hostPath" in volume] == ["/run/cardcage/view"]


@pytest.mark.parametrize("verb, group, resource", [
    ("get", "resource.k8s.io", "resourceclaims"), ("create", "resource.k8s.io", "resourceslices"), ("get", "", "secrets"), ("get", "", "nodes")])
def test_its_service_account_may_only_ask_who_a_visitor_is(cluster, page, verb, group, resource):
    review = {"spec": {"user": f"system:serviceaccount:{NAMESPACE}:cardcage-web",
                       "resourceAttributes": {"verb": verb, "group": group, "resource": resource}}}
    assert not cluster.api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)["status"]["allowed"]
