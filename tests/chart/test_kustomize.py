"""The chart makes the same objects as config/kubernetes, for the base and for each component."""

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from chart import SOURCE, render

MOCK = {"modules": {"mock": {"enabled": True}}, "image": {"tag": "latest"}, "namespace": {"create": True}}
CHART_LABELS = ("app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart")
# The chart writes these keys even if they are the daemon's defaults.
DEFAULTS = {"kubelet_root": "/var/lib/kubelet", "device_plugins_dir": "/var/lib/kubelet/device-plugins", "cdi_dir": "/var/run/cdi",
            "driver_root": "/", "nri_socket": "/var/run/nri/nri.sock", "features_dir": "/etc/kubernetes/node-feature-discovery/features.d"}


@pytest.fixture(scope="session")
def kubectl() -> str:
    """That of the cluster suite: Debian's is too old for components."""
    found = sorted(Path.home().glob(".cache/cardcage/cluster/kubernetes-*/bin/kubectl"), key=lambda path: path.stat().st_mtime)
    if not found:
        pytest.skip("the programs of the cluster suite are not built (tests/cluster/build-programs kubernetes)")
    return str(found[-1])


def kustomized(kubectl: str, copy: Path, *components: str) -> list[dict]:
    shutil.copytree(SOURCE / "config/kubernetes", copy / "kubernetes")
    mine = copy / "kubernetes/mine"
    mine.mkdir()
    (mine / "kustomization.yaml").write_text(yaml.safe_dump({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": ["../mock"],
        "components": [f"../components/{component}" for component in components]}))
    text = subprocess.run([kubectl, "kustomize", mine], text=True, capture_output=True, check=True).stdout
    return list(yaml.safe_load_all(text.replace("driver.example.com", "gpu.mock.cardcage.dev")))


def plain(found: dict) -> dict:
    """The object without what may differ: labels and annotations of the chart, the hash in the name of the ConfigMap, orders without a meaning."""
    for holder in (found, found.get("spec", {}).get("template", {})):
        metadata = holder.get("metadata", {})
        for annotation in ("cardcage.dev/start-config", "kubectl.kubernetes.io/default-container"):
            metadata.get("annotations", {}).pop(annotation, None)
        if not metadata.get("annotations", True):
            del metadata["annotations"]
        for label in CHART_LABELS:
            metadata.get("labels", {}).pop(label, None)
        metadata.get("labels", {}).pop("app.kubernetes.io/name", None)
        if not metadata.get("labels", True):
            del metadata["labels"]
    if found["kind"] in ("DeviceClass", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"):
        found["metadata"].pop("namespace", None)  # kustomize does not know that these have none
    if found["kind"] == "DaemonSet":
        found["spec"].pop("selector")
        spec = found["spec"]["template"]["spec"]
        spec["volumes"].sort(key=lambda volume: volume["name"])
        spec["containers"][0]["volumeMounts"].sort(key=lambda mount: mount["name"])
        for volume in spec["volumes"]:
            if volume["name"] == "config":
                volume["configMap"]["name"] = "cardcage"
            elif volume["name"] in ("plugins", "plugins-registry", "pod-resources"):
                volume["hostPath"].pop("type")  # the chart notices where the kubelet has not made them
    if found["kind"] == "ConfigMap":
        found["metadata"]["name"] = "cardcage"
        toml = tomllib.loads(found["data"]["cardcage.toml"])
        toml["node"] = DEFAULTS | toml["node"]
        toml.setdefault("metrics", {"listen": "127.0.0.1:9471"})
        found["data"] = toml
    return found


def by_name(objects: list[dict]) -> dict[tuple[str, str], dict]:
    return {(found["kind"], found["metadata"]["name"]): found for found in map(plain, objects)}


@pytest.mark.parametrize("component, values", [
    ("", {}),
    ("binding-conditions", {"bindingConditions": {"enabled": True}}),
    ("claim-status", {"claimStatus": {"enabled": True}}),
    ("early-claims", {"earlyClaims": {"enabled": True}}),
    ("network-devices", {"networkDevices": {"enabled": True}}),
    ("node-feature-discovery", {"nodeFeatureDiscovery": {"enabled": True}}),
])
def test_same_objects(kubectl, tmp_path, component, values):
    assert by_name(render(MOCK | values)) == by_name(kustomized(kubectl, tmp_path, *filter(None, [component])))


@pytest.mark.parametrize("components, values", [
    (["services"], {"services": {"enabled": True}}),
    (["driver-root"], {"driverRoot": "/run/nvidia/driver"}),
    # The chart enables the first two together with MPS.
    (["driver-root", "services", "nvidia-mps"],
     {"driverRoot": "/run/nvidia/driver", "modules": {**MOCK["modules"], "nvidia": {"enabled": True, "mps": True}}}),
])
def test_same_daemon(kubectl, tmp_path, components, values):
    """These components ask the operator to edit the TOML, too, which the chart does by itself."""
    daemon = ("DaemonSet", "cardcage")
    assert by_name(render(MOCK | values))[daemon] == by_name(kustomized(kubectl, tmp_path, *components))[daemon]
