"""The page of a node: its objects, and what they may do."""

import base64

import pytest

from chart import config, one, pod, refusal, render

MOCK = {"modules": {"mock": {"enabled": True}}}
WEB = MOCK | {"web": {"enabled": True}}


def web(**values) -> dict:
    return MOCK | {"web": {"enabled": True, **values}}


def names(objects: list[dict]) -> set[str]:
    return {f"{found['kind']}/{found['metadata']['name']}" for found in objects}


def test_nothing_of_it_without_being_asked():
    assert not [name for name in names(render(MOCK)) if "web" in name]
    assert "read_only_socket" not in config(render(MOCK))["node"]


def test_objects():
    assert names(render(WEB)) - names(render(MOCK)) == {
        "ServiceAccount/cardcage-web", "ClusterRoleBinding/cardcage-web", "ClusterRole/cardcage-web-viewer", "Secret/cardcage-web-tls", "DaemonSet/cardcage-web"}


def test_the_daemon_serves_the_socket_of_the_page():
    objects = render(WEB)
    node = config(objects)["node"]
    assert (node["read_only_socket"], node["read_only_group"]) == ("/run/cardcage/view/admin.sock", 65532)
    page = pod(objects, "cardcage-web")
    assert page["securityContext"]["runAsGroup"] == node["read_only_group"]
    assert f"--socket={node['read_only_socket']}" in page["containers"][0]["command"]


def test_the_page_has_no_rights_on_the_node():
    page = pod(render(WEB), "cardcage-web")
    assert page["securityContext"] == {"runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"}}
    [container] = page["containers"]
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    assert [volume["hostPath"]["path"] for volume in page["volumes"] if "hostPath" in volume] == ["/run/cardcage/view"]
    assert all(mount["readOnly"] for mount in container["volumeMounts"])
    assert not {"hostNetwork", "hostPID"} & set(page) and page["serviceAccountName"] == "cardcage-web"


def test_the_daemon_does_not_take_its_pods():
    """A selector that matches the pods of both would mix them up in `kubectl exec daemonset/cardcage` and in monitors."""
    objects = render(WEB)
    daemon, page = (one(objects, "DaemonSet", name)["spec"] for name in ("cardcage", "cardcage-web"))
    labels = page["template"]["metadata"]["labels"]
    assert not set(daemon["selector"]["matchLabels"].items()) <= set(labels.items())
    assert set(page["selector"]["matchLabels"].items()) <= set(labels.items())


def test_actions_need_the_admin_socket():
    objects = render(web(allowActions=True))
    page = pod(objects, "cardcage-web")
    command = page["containers"][0]["command"]
    assert "--socket=/run/cardcage/admin.sock" in command and "--allow-actions" in command
    assert page["securityContext"]["runAsUser"] == 0 and page["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert one(objects, "ClusterRole", "cardcage-web-operator")["rules"][0]["verbs"] == ["get", "update"]
    assert "read_only_socket" not in config(objects)["node"]


def test_certificates():
    made = one(render(WEB), "Secret", "cardcage-web-tls")
    assert made["type"] == "kubernetes.io/tls" and base64.b64decode(made["data"]["tls.crt"]).startswith(b"-----BEGIN CERTIFICATE")
    own = render(web(tls={"secretName": "mine"}))
    assert not [found for found in own if found["kind"] == "Secret"]
    assert "mine" in [volume["secret"]["secretName"] for volume in pod(own, "cardcage-web")["volumes"] if "secret" in volume]
    managed = render(web(tls={"certManager": {"enabled": True, "issuerRef": {"name": "internal"}}}))
    certificate = one(managed, "Certificate", "cardcage-web")["spec"]
    assert certificate["secretName"] == "cardcage-web-tls" and "localhost" in certificate["dnsNames"]
    assert not [found for found in managed if found["kind"] == "Secret"]


def test_network_policy():
    policy = one(render(web(port=9000, networkPolicy={"enabled": True, "from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]})), "NetworkPolicy", "cardcage-web")["spec"]
    assert policy["ingress"] == [{"ports": [{"protocol": "TCP", "port": 9000}], "from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]
    assert policy["podSelector"]["matchLabels"]["app.kubernetes.io/name"] == "cardcage-web"


def test_each_profile_has_its_pages():
    objects = render(WEB | {"profiles": [{"name": "a", "nodeSelector": {"x": "1"}}, {"name": "b", "nodeSelector": {"x": "2"}}]})
    pages = {name: one(objects, "DaemonSet", name)["spec"] for name in ("cardcage-a-web", "cardcage-b-web")}
    assert [page["template"]["spec"]["nodeSelector"]["x"] for page in pages.values()] == ["1", "2"]
    assert [page["selector"]["matchLabels"]["cardcage.dev/profile"] for page in pages.values()] == ["a", "b"]
    assert pod(objects, "cardcage-a-web")["serviceAccountName"] == "cardcage-web"


@pytest.mark.parametrize("values, message", [
    (web(prt=1), "at '/web': additional properties 'prt' not allowed"),
    (web(port=0), "at '/web/port'"),
    (web(address="localhost"), "at '/web/address'"),
    (web(allowedHosts=["https://node.example.com"]), "at '/web/allowedHosts/0'"),
    (web(tls={"certManager": {"enabled": True}}), "web.tls.certManager has no issuerRef.name"),
    (WEB | {"config": {"node": {"read_only_socket": "/x"}}}, "config.node.read_only_socket: the pod's mounts must agree"),
])
def test_refused(values, message):
    assert message in refusal(values)
