"""A certificate authority and the certificates of a one-node cluster, made with openssl."""

import base64
import json
import subprocess
from pathlib import Path

# Name -> subject. To the API server, O is a group and CN a user.
CLIENTS = {
    "admin": "/O=system:masters/CN=admin",
    "controller-manager": "/CN=system:kube-controller-manager",
    "scheduler": "/CN=system:kube-scheduler",
    "kubelet": "/O=system:nodes/CN=system:node:node1",
    "apiserver-kubelet-client": "/O=system:masters/CN=apiserver",
}


def openssl(*arguments: str, stdin: str = "") -> None:
    subprocess.run(["openssl", *arguments], input=stdin, text=True, check=True, capture_output=True)


def make(folder: Path, addresses: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    ca, ca_key = str(folder / "ca.crt"), str(folder / "ca.key")
    openssl("req", "-x509", *curve, "-keyout", ca_key, "-out", ca, "-days", "2", "-subj", "/CN=cluster-ca")
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(folder / "service-accounts.key"))

    def sign(name: str, subject: str, extensions: str) -> None:
        request = str(folder / f"{name}.csr")
        openssl("req", "-new", *curve, "-keyout", str(folder / f"{name}.key"), "-out", request, "-subj", subject)
        openssl("x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-days", "2",
                "-extfile", "/dev/stdin", "-out", str(folder / f"{name}.crt"), stdin=extensions)

    for name, subject in CLIENTS.items():
        sign(name, subject, "extendedKeyUsage=clientAuth")
    names = ["DNS:kubernetes.default.svc", *(f"IP:{address}" for address in addresses)]
    sign("apiserver", "/CN=kube-apiserver", f"extendedKeyUsage=serverAuth\nsubjectAltName={','.join(names)}")


def write_kubeconfig(certificates: Path, client: str, server: str, path: Path) -> None:
    def inline(name: str) -> str:
        return base64.b64encode((certificates / name).read_bytes()).decode()

    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "cluster",
        "clusters": [{"name": "cluster", "cluster": {
            "server": server, "certificate-authority-data": inline("ca.crt")}}],
        "users": [{"name": client, "user": {
            "client-certificate-data": inline(f"{client}.crt"), "client-key-data": inline(f"{client}.key")}}],
        "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": client}}],
    }))
