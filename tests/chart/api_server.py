"""etcd and kube-apiserver alone, on free ports of this machine, from the programs that the cluster suite has built."""

import os
import shutil
import socket
import ssl
import subprocess
import urllib.request
from pathlib import Path

import pytest

from waiting import Fatal, until

TOKEN = "token-of-the-administrator"


def program(family: str, name: str) -> str:
    """Skips the test if the program is missing: building it takes minutes."""
    cache = Path(os.environ.get("CARDCAGE_CACHE", Path.home() / ".cache/cardcage"))
    found = sorted(cache.glob(f"cluster/{family}-*/bin/{name}"), key=lambda path: path.stat().st_mtime)
    if not found:
        pytest.skip(f"{name} is not built: run `tests/cluster/build-programs {family}` first")
    return str(found[-1])


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class ApiServer:
    def __init__(self, folder: Path):
        self.folder = folder
        self.kubectl_program = program("kubernetes", "kubectl")
        self.kubeconfig = folder / "kubeconfig"
        self.programs: list[subprocess.Popen] = []
        self.trust = ssl.create_default_context()
        self.trust.check_hostname, self.trust.verify_mode = False, ssl.CERT_NONE

    def start(self) -> "ApiServer":
        etcd, peer, port = free_port(), free_port(), free_port()
        key = self.folder / "service-accounts.key"
        subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key], check=True)
        tokens = self.folder / "tokens.csv"
        tokens.write_text(f"{TOKEN},admin,admin,system:masters\n")
        self._run(program("etcd", "etcd"), f"--data-dir={self.folder}/etcd", "--unsafe-no-fsync", "--log-level=warn",
                  f"--listen-client-urls=http://127.0.0.1:{etcd}", f"--advertise-client-urls=http://127.0.0.1:{etcd}",
                  f"--listen-peer-urls=http://127.0.0.1:{peer}")
        # No controller makes ServiceAccounts for new namespaces here, and that admission plugin requires them for pods.
        self._run(program("kubernetes", "kube-apiserver"), f"--etcd-servers=http://127.0.0.1:{etcd}", f"--cert-dir={self.folder}/certificates",
                  "--bind-address=127.0.0.1", "--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none", f"--secure-port={port}",
                  f"--token-auth-file={tokens}", "--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount", "--allow-privileged=true",
                  "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={key}",
                  f"--service-account-signing-key-file={key}", "--service-cluster-ip-range=10.97.0.0/24")
        self.kubeconfig.write_text(f"""\
apiVersion: v1
kind: Config
clusters: [{{name: alone, cluster: {{server: "https://127.0.0.1:{port}", insecure-skip-tls-verify: true}}}}]
users: [{{name: admin, user: {{token: {TOKEN}}}}}]
contexts: [{{name: alone, context: {{cluster: alone, user: admin}}}}]
current-context: alone
""")
        self.url = f"https://127.0.0.1:{port}"
        self._wait_ready(f"{self.url}/readyz")
        return self

    def _run(self, *command: str) -> None:
        with (self.folder / f"{Path(command[0]).name}.log").open("w") as log:
            self.programs.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder))

    def _wait_ready(self, url: str, seconds: float = 120) -> None:
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {TOKEN}"})

        def ready() -> bool:
            for process in self.programs:
                if process.poll() is not None:
                    raise Fatal((self.folder / f"{Path(process.args[0]).name}.log").read_text()[-2000:])
            with urllib.request.urlopen(request, context=self.trust, timeout=5):
                return True

        until(ready, "the API server is ready", seconds)

    def stop(self) -> None:
        for process in reversed(self.programs):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder / "etcd", ignore_errors=True)

    def kubectl(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess:
        return subprocess.run([self.kubectl_program, f"--kubeconfig={self.kubeconfig}", *arguments], input=stdin, text=True, capture_output=True)
