"""The release is uninstalled: the cluster keeps none of its objects, and the node only what docs/install.md names."""

from pathlib import Path

import pytest

from api import RESOURCES
from changed_release import wait_released
from daemon import CDI, NAMESPACE
from kubectl import kubectl
from node import KUBELET_ROOT
from waiting import until

KINDS = ("clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings,deviceclasses,"
         "prioritylevelconfigurations,flowschemas")
WIPE = 60  # the kubelet deletes the slices of a driver half a minute after the driver is gone


@pytest.fixture(scope="module", autouse=True)
def uninstalled(daemon):
    wait_released(daemon)
    daemon.uninstall()


def test_no_object_is_left(cluster):
    assert kubectl("get", KINDS, "--selector=app.kubernetes.io/name=cardcage", "--output=name") == ""
    kept = kubectl("get", "all,configmaps,serviceaccounts", f"--namespace={NAMESPACE}", "--output=name").split()
    assert set(kept) <= {"configmap/kube-root-ca.crt", "serviceaccount/default"}
    until(lambda: not cluster.api.items(f"{RESOURCES}/resourceslices"), "the kubelet has deleted the slices", WIPE)


def test_no_file_is_left_for_the_kubelet_and_the_runtime():
    def ours(folder: Path) -> list[Path]:
        return [path for path in folder.rglob("*") if "mock" in path.name or "cardcage" in path.name]

    for folder in (KUBELET_ROOT / "plugins", KUBELET_ROOT / "plugins_registry", KUBELET_ROOT / "device-plugins", CDI):
        assert not ours(folder), folder
