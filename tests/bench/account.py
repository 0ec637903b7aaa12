"""The service account that both sides of a bench use on the real API server."""

import json
from pathlib import Path

import yaml
from api import Api
from kubectl import apply
from node import API_URL, CERTIFICATES

NAMESPACE = "bench"
WORK = Path("/run/bench")  # in memory, as is /run/cdi
KUBECONFIG = WORK / "kubeconfig"
MANIFEST = Path(__file__).resolve().parents[2] / "config/manifests/mock.yaml"


def create_account(api: Api) -> None:
    """Both sides use one service account with the rights that the daemon is installed with, and a bearer token, as in a pod.

    It is not the daemon's own account, whose requests the cluster's API server writes to its audit log."""
    api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    shipped = yaml.safe_load_all(MANIFEST.read_text())
    access = [each for each in shipped if each["kind"] in ("ServiceAccount", "ClusterRole")]
    for each in access:
        each["metadata"].pop("namespace", None)
    apply(*access, namespace=NAMESPACE)
    # The second role is that of Prometheus; the bench counts requests.
    for number, role in enumerate(("cardcage", "system:monitoring")):
        api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
            "metadata": {"name": f"{NAMESPACE}-{number}"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": "cardcage", "namespace": NAMESPACE}]})
    token = api.create(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/cardcage/token", {"spec": {"expirationSeconds": 86400}})
    KUBECONFIG.touch(mode=0o600)
    KUBECONFIG.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": {"server": API_URL, "certificate-authority": f"{CERTIFICATES}/ca.crt"}}],
        "users": [{"name": "bench", "user": {"token": token["status"]["token"]}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}]}))
