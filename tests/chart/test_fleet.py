"""The page of all nodes: its objects, and what they may do."""

import pytest

from chart import config, one, refusal, render

MOCK = {"modules": {"mock": {"enabled": True}}}


def fleet(**values) -> dict:
    return MOCK | {"fleet": {"enabled": True, **values}}


def names(objects: list[dict]) -> set[str]:
    return {f"{found['kind']}/{found['metadata']['name']}" for found in objects}


def pod(objects: list[dict]) -> dict:
    return one(objects, "Deployment", "cardcage-fleet")["spec"]["template"]["spec"]


def test_nothing_of_it_without_being_asked():
    assert not [name for name in names(render(MOCK)) if "fleet" in name]


def test_objects():
    assert names(render(fleet())) - names(render(MOCK)) == {
        "ServiceAccount/cardcage-fleet", "ClusterRole/cardcage-fleet", "ClusterRoleBinding/cardcage-fleet", "ClusterRoleBinding/cardcage-fleet-reviews",
        "ClusterRole/cardcage-fleet-viewer", "Secret/cardcage-fleet-tls", "Service/cardcage-fleet", "Deployment/cardcage-fleet"}


def test_it_only_reads():
    objects = render(fleet())
    rules = one(objects, "ClusterRole", "cardcage-fleet")["rules"]
    assert all(rule["verbs"] == ["list", "watch"] for rule in rules)
    assert {resource for rule in rules for resource in rule["resources"]} == {"resourceslices", "resourceclaims", "devicetaintrules", "events"}
    assert one(objects, "ClusterRoleBinding", "cardcage-fleet-reviews")["roleRef"]["name"] == "system:auth-delegator"
    assert one(objects, "ClusterRole", "cardcage-fleet-viewer")["rules"] == [{"apiGroups": ["cardcage.dev"], "resources": ["fleet"], "verbs": ["get"]}]
    assert not [name for name in names(render(fleet() | {"rbac": {"create": False}})) if name.startswith("ClusterRole") and "fleet" in name]


def test_compute_domains():
    objects = render(fleet(computeDomains={"enabled": True}))
    added = names(objects) - names(render(fleet()))
    assert added == {"CustomResourceDefinition/computedomains.resource.nvidia.com"}
    assert names(render(fleet(computeDomains={"enabled": True, "crd": False}))) == names(render(fleet())), "NVIDIA's chart has it"
    assert "--compute-domains" in pod(objects)["containers"][0]["command"] and "--compute-domains" not in pod(render(fleet()))["containers"][0]["command"]
    verbs = {f"{group}/{resource}": set(rule["verbs"]) for rule in one(objects, "ClusterRole", "cardcage-fleet")["rules"]
             for group in rule["apiGroups"] for resource in rule["resources"]}
    assert {name: found for name, found in verbs.items() if found != {"list", "watch"}} == {
        "resource.nvidia.com/computedomains": {"list", "watch", "update"}, "resource.nvidia.com/computedomains/status": {"update"},
        "resource.k8s.io/resourceclaimtemplates": {"list", "watch", "create", "delete"}}
    assert verbs["/nodes"] == {"list", "watch"}, "for the addresses in the status of domains"


def test_the_pod_is_confined():
    page = pod(render(fleet()))
    assert page["securityContext"] == {"runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"}}
    [container] = page["containers"]
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    assert not [volume for volume in page["volumes"] if "hostPath" in volume]
    assert not {"hostNetwork", "hostPID"} & set(page) and page["serviceAccountName"] == "cardcage-fleet"


def test_selectors_are_its_own():
    objects = render(fleet() | {"web": {"enabled": True}})
    labels = one(objects, "Deployment", "cardcage-fleet")["spec"]["template"]["metadata"]["labels"]
    assert one(objects, "Deployment", "cardcage-fleet")["spec"]["selector"]["matchLabels"] == labels == one(objects, "Service", "cardcage-fleet")["spec"]["selector"]
    for daemon_set in "cardcage", "cardcage-web":
        assert not set(one(objects, "DaemonSet", daemon_set)["spec"]["selector"]["matchLabels"].items()) <= set(labels.items())


def test_links_to_the_pages_of_nodes():
    assert not [part for part in pod(render(fleet()))["containers"][0]["command"] if "node-pages" in part]
    objects = render(fleet() | {"web": {"enabled": True}})
    [place] = [part for part in pod(objects)["containers"][0]["command"] if part.startswith("--node-pages=")]
    namespace, _, selector = place.removeprefix("--node-pages=").partition("/")
    web = one(objects, "DaemonSet", "cardcage-web")
    labels = web["spec"]["template"]["metadata"]["labels"].items()
    assert namespace == web["metadata"]["namespace"] == one(objects, "Role", "cardcage-fleet")["metadata"]["namespace"]
    assert set(tuple(term.split("=")) for term in selector.split(",")) <= set(labels)
    assert not set(tuple(term.split("=")) for term in selector.split(",")) <= set(one(objects, "DaemonSet")["spec"]["template"]["metadata"]["labels"].items())
    assert one(objects, "Role", "cardcage-fleet")["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}]
    assert one(objects, "RoleBinding", "cardcage-fleet")["subjects"] == one(objects, "ClusterRoleBinding", "cardcage-fleet")["subjects"]


def test_it_labels_claims_where_devices_are_made_ready():
    assert "apiserver" not in config(render(fleet()))
    objects = render(fleet() | {"bindingConditions": {"enabled": True}})
    assert config(objects)["apiserver"] == {"claim_labels": "cardcage/cardcage-fleet"}
    assert one(objects, "Lease", "cardcage-fleet")["metadata"]["namespace"] == "cardcage"
    command = pod(objects)["containers"][0]["command"]
    assert command[-2:] == ["--binding-lease=cardcage/cardcage-fleet", "--binding-driver=gpu.mock.cardcage.dev"]
    assert one(objects, "ClusterRole", "cardcage-fleet-binding-conditions")["rules"] == [{"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["patch"]}]
    lease = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": ["cardcage-fleet"]}
    assert one(objects, "Role", "cardcage-fleet")["rules"] == [lease | {"verbs": ["patch"]}]
    assert one(objects, "Role", "cardcage-binding-conditions")["rules"] == [lease | {"verbs": ["get"]}]
    assert one(objects, "RoleBinding", "cardcage-binding-conditions")["subjects"][0]["name"] == "cardcage"
    [condition] = one(objects, "ValidatingAdmissionPolicy", "cardcage-fleet-claims")["spec"]["matchConditions"]
    assert condition["expression"] == 'request.userInfo.username == "system:serviceaccount:cardcage:cardcage-fleet"'


def test_without_the_fleet_daemons_watch_all_claims():
    objects = render(MOCK | {"bindingConditions": {"enabled": True}})
    assert "apiserver" not in config(objects)
    assert not {name for name in names(objects) if "Lease" in name or "fleet" in name}


def test_profiles_and_values_of_yours():
    values = fleet() | {"bindingConditions": {"enabled": True}, "config": {"apiserver": {"request_timeout": "5s"}},
                        "profiles": [{"name": "a", "nodeSelector": {"x": "a"}}, {"name": "b", "nodeSelector": {"x": "b"}, "overrides": {"config": {"apiserver": {"claim_labels": ""}}}}]}
    objects = render(values)
    assert config(objects, "cardcage-a")["apiserver"] == {"request_timeout": "5s", "claim_labels": "cardcage/cardcage-fleet"}
    assert config(objects, "cardcage-b")["apiserver"]["claim_labels"] == ""


def test_values_reach_the_program():
    objects = render(fleet(port=9000, healthPort=9001, address="[::]", allowedHosts=["fleet.example.com"], tls={"secretName": "mine"},
                           networkPolicy={"enabled": True, "from": [{"podSelector": {}}]}, podAnnotations={"a": "b"}))
    page = pod(objects)
    assert page["containers"][0]["command"] == ["/usr/bin/cardcage-fleet", "--listen=[::]:9000", "--health-listen=[::]:9001", "--tls-cert=/tls/tls.crt",
                                                "--tls-key=/tls/tls.key", "--allow-host=fleet.example.com"]
    assert page["volumes"][0]["secret"]["secretName"] == "mine" and "Secret/cardcage-fleet-tls" not in names(objects)
    ingress = one(objects, "NetworkPolicy", "cardcage-fleet")["spec"]["ingress"]
    assert ingress[0] == {"ports": [{"protocol": "TCP", "port": 9000}], "from": [{"podSelector": {}}]} and ingress[1]["ports"][0]["port"] == 9001


@pytest.mark.parametrize("values, message", [
    (fleet(prot=1), "at '/fleet': additional properties 'prot' not allowed"),
    (fleet(port=0), "at '/fleet/port'"),
    (fleet(address="everywhere"), "at '/fleet/address'"),
    (MOCK | {"fleet": {"computeDomains": {"enabled": True}}}, "fleet.computeDomains.enabled: cardcage-fleet manages ComputeDomains"),
    (fleet(port=9473), "fleet.port and fleet.healthPort are both 9473"),
    (fleet(tls={"certManager": {"enabled": True}}), "fleet.tls.certManager has no issuerRef.name"),
])
def test_refused(values, message):
    assert message in refusal(values)
