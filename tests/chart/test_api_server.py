"""A real API server accepts the chart's objects, and helm installs, upgrades, rolls back and removes it there. There are no nodes."""

import json
import subprocess
import urllib.error
import urllib.request

import pytest

from api_server import TOKEN, ApiServer
from chart import CHART, SOURCE, helm, template
from waiting import until

EXAMPLES = sorted((SOURCE / "examples").glob("*.yaml"))
MOCK = {"modules": {"mock": {"enabled": True}}}
EVERYTHING = MOCK | {
    "apf": {"enabled": True}, "claimStatus": {"enabled": True}, "bindingConditions": {"enabled": True}, "earlyClaims": {"enabled": True},
    "services": {"enabled": True}, "networkDevices": {"enabled": True}, "nodeFeatureDiscovery": {"enabled": True},
    "web": {"enabled": True, "networkPolicy": {"enabled": True}}, "fleet": {"enabled": True, "networkPolicy": {"enabled": True}}, "admissionPolicy": {"parameters": True}, "imagePullSecrets": [{"name": "secret"}], "podAnnotations": {"a.b/c": "d"},
    "vendorModules": [{"name": "acme", "path": "/modules/libacme.so", "sha256": "0" * 64, "image": "example.com/acme:1", "drivers": [{"driver": "gpu.acme.com"}]}]}
CLUSTER_KINDS = ("clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings,deviceclasses,"
                 "flowschemas,prioritylevelconfigurations")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = ApiServer(tmp_path_factory.mktemp("api-server"))
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.fixture(scope="module")
def namespace(server) -> str:
    result = server.kubectl("create", "namespace", "cardcage")
    assert result.returncode == 0, result.stderr
    return "cardcage"


def release(server, command: str, *arguments: str, values: dict | None = None):
    """Runs helm on the API server: release(server, "install", "cardcage", str(CHART), values=…)."""
    return helm(command, *arguments, f"--kubeconfig={server.kubeconfig}", *(["--values=-"] if values is not None else []), stdin=json.dumps(values or {}))


def succeed(server, command: str, *arguments: str, values: dict | None = None) -> str:
    result = release(server, command, *arguments, values=values)
    assert result.returncode == 0, result.stderr
    return result.stdout


def named(server, kinds: str, *where: str) -> set[str]:
    """The objects of the chart."""
    listed = server.kubectl("get", kinds, *where, "--selector=app.kubernetes.io/name=cardcage", "--output=name")
    assert listed.returncode == 0, listed.stderr
    return set(listed.stdout.split())


@pytest.mark.parametrize("file", sorted((SOURCE / "config/manifests").glob("*.yaml")), ids=lambda file: file.stem)
def test_manifests_are_taken(server, namespace, file):
    result = server.kubectl("apply", "--server-side", "--dry-run=server", "--filename", str(file))
    assert result.returncode == 0 and "Warning" not in result.stderr, result.stderr


def test_everything_is_taken(server, namespace):
    rendered = template(EVERYTHING)
    assert rendered.returncode == 0, rendered.stderr
    result = server.kubectl("apply", "--server-side", "--dry-run=server", "--filename=-", stdin=rendered.stdout)
    assert result.returncode == 0 and "Warning" not in result.stderr, result.stderr


def test_life_of_a_release(server):
    where = ("cardcage", "--namespace=life")
    notes = succeed(server, "install", *where, str(CHART), "--create-namespace", values=MOCK)
    assert "exec daemonset/cardcage -- cagectl status" in notes
    second = release(server, "install", "other", str(CHART), "--namespace=other", "--create-namespace", values=MOCK)
    assert "release 'cardcage' in namespace 'life' has Cardcage in this cluster already" in second.stderr

    def image() -> str:
        return server.kubectl("get", "daemonset/cardcage", "--namespace=life", "--output=jsonpath={.spec.template.spec.containers[0].image}").stdout

    succeed(server, "upgrade", *where, str(CHART), values=EVERYTHING | {"image": {"tag": "next"}})
    assert image() == "cardcage:next" and "flowschema.flowcontrol.apiserver.k8s.io/cardcage-claims" in named(server, CLUSTER_KINDS)
    succeed(server, "rollback", *where, "1")
    assert image() == "cardcage:0.1.0" and "flowschema.flowcontrol.apiserver.k8s.io/cardcage-claims" not in named(server, CLUSTER_KINDS)
    succeed(server, "uninstall", *where)
    assert not named(server, CLUSTER_KINDS) and not named(server, "daemonsets,configmaps,serviceaccounts", "--namespace=life")


def test_two_releases_on_purpose(server):
    succeed(server, "install", "cardcage", str(CHART), "--namespace=first", "--create-namespace", values=MOCK)
    other = MOCK | {"allowSecondRelease": True, "deviceClasses": {"create": False}}
    succeed(server, "install", "other", str(CHART), "--namespace=second", "--create-namespace", values=other)
    assert {"clusterrole.rbac.authorization.k8s.io/cardcage", "clusterrole.rbac.authorization.k8s.io/other-cardcage"} <= named(server, CLUSTER_KINDS)
    succeed(server, "uninstall", "other", "--namespace=second")
    succeed(server, "uninstall", "cardcage", "--namespace=first")


WAITING = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: waiting, namespace: default, labels: {mine: "1"}}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.mock.cardcage.dev}}]}}
"""
ALLOCATION = {"devices": {"results": [{"request": "r", "driver": "gpu.mock.cardcage.dev", "pool": "n1", "device": "gpu-0", "bindingConditions": ["Ready"],
                                       "bindingFailureConditions": ["Failed"]}]},
              "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}}


def test_the_fleet_labels_claims_and_changes_nothing_else(server, build, tmp_path):
    """The program itself, with the rights that the chart gives it."""
    values = MOCK | {"fleet": {"enabled": True}, "bindingConditions": {"enabled": True}}
    succeed(server, "install", "cardcage", str(CHART), "--namespace=labels", "--create-namespace", values=values)
    fleet = None
    try:
        made = server.kubectl("create", "--filename=-", stdin=WAITING)
        assert made.returncode == 0, made.stderr
        allocated = server.kubectl("patch", "resourceclaim/waiting", "--subresource=status", "--type=merge", "--patch", json.dumps({"status": {"allocation": ALLOCATION}}))
        assert allocated.returncode == 0, allocated.stderr
        token = server.kubectl("create", "token", "cardcage-fleet", "--namespace=labels").stdout
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(server.kubeconfig.read_text().replace(TOKEN, token.strip()).replace(
            "insecure-skip-tls-verify: true", f'certificate-authority: "{server.folder}/certificates/apiserver.crt"'))
        fleet = subprocess.Popen([build / "bin/cardcage-fleet", "--kubeconfig", kubeconfig, "--binding-lease=labels/cardcage-fleet",
                                  "--binding-driver=gpu.mock.cardcage.dev"], stdout=subprocess.DEVNULL)

        def field(what: str, path: str, *where: str) -> str:
            return server.kubectl("get", what, *where, f"--output=jsonpath={{{path}}}").stdout

        until(lambda: field("resourceclaim/waiting", r".metadata.labels.cardcage\.dev/binding-node") == "n1", "the claim has its label", 60)
        until(lambda: field("lease/cardcage-fleet", ".spec.renewTime", "--namespace=labels"), "the Lease is renewed", 60)
        assert field("resourceclaim/waiting", ".metadata.labels.mine") == "1"

        def patch(change: dict) -> str:
            """The answer to the fleet's own user, who may not read a single claim as kubectl would."""
            request = urllib.request.Request(f"{server.url}/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/waiting?dryRun=All", method="PATCH",
                                             data=json.dumps({"metadata": change}).encode(),
                                             headers={"Authorization": f"Bearer {token.strip()}", "Content-Type": "application/merge-patch+json"})
            try:
                with urllib.request.urlopen(request, context=server.trust, timeout=10) as answer:
                    return answer.read().decode()
            except urllib.error.HTTPError as error:
                return error.read().decode()

        for change in {"labels": {"mine": "2"}}, {"labels": {"mine": None}}, {"annotations": {"a": "b"}}, {"finalizers": ["a.b/c"]}:
            until(lambda: "cardcage-fleet may change" in patch(change), f"{change} is refused", 30)
        assert json.loads(patch({"labels": {"cardcage.dev/binding-node": None}}))["metadata"]["labels"] == {"mine": "1"}
    finally:
        if fleet:
            fleet.terminate()
            fleet.wait(20)
        server.kubectl("delete", "resourceclaim/waiting")
        succeed(server, "uninstall", "cardcage", "--namespace=labels")


@pytest.fixture(scope="module")
def policies(server):
    """The policies that judge parameters, and the classes, of all modules, and the kind ComputeDomain."""
    values = {"driverRoot": "/run/nvidia/driver", "admissionPolicy": {"parameters": True},
              "modules": {name: {"enabled": True} for name in ("mock", "nvidia", "imex", "fpga", "nic", "generic")},
              "fleet": {"enabled": True, "computeDomains": {"enabled": True}}}
    succeed(server, "install", "cardcage", str(CHART), "--namespace=policies", "--create-namespace", values=values)
    yield
    succeed(server, "uninstall", "cardcage", "--namespace=policies")


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_examples_are_taken(server, policies, file):
    result = server.kubectl("apply", "--dry-run=server", "--namespace=default", "--filename", str(file))
    assert result.returncode == 0 and "Warning" not in result.stderr, result.stderr


def test_wrong_parameters_of_an_example_are_refused(server, policies):
    wrong = (SOURCE / "examples/nic-interface.yaml").read_text().replace("mtu: 1500", "mut: 1500")
    for _ in range(100):  # the API server takes a moment to apply a new policy
        result = server.kubectl("apply", "--dry-run=server", "--namespace=default", "--filename=-", stdin=wrong)
        if result.returncode:
            break
    assert "does not take \"mut\"" in result.stderr, result.stderr
