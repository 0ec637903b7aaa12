"""Boots a one-node cluster and stops it. Runs inside `isolate`, where the default paths and ports belong to the cluster."""

import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import certificates
import images
import node
from api import Api
from programs import Program
from waiting import Fatal, until


class Cluster:
    def __init__(self):
        self.programs: list[Program] = []
        self.kubelet = self.containerd = self.api_server = None
        self.api: Api | None = None
        self.boot_seconds = 0.0

    def boot(self) -> "Cluster":
        started = time.monotonic()
        with ThreadPoolExecutor(1) as background:
            runtime = background.submit(self._boot_runtime)
            self.boot_api_server()
            self.controller_manager = self._start(node.kube_controller_manager())
            self._start(node.kube_scheduler())
            runtime.result()
        self.kubelet = self._start(node.kubelet())
        self._until(self._node_ready, "the node is Ready", 60)
        self.boot_seconds = time.monotonic() - started
        return self

    def _boot_runtime(self) -> None:
        self.containerd = self._start(node.containerd())
        self._until(self._containerd_responds, "containerd responds", 30)
        images.load_busybox()

    @staticmethod
    def _containerd_responds() -> bool:
        return subprocess.run(["ctr", f"--address={node.CONTAINERD_SOCKET}", "version"], capture_output=True).returncode == 0

    def boot_api_server(self) -> "Cluster":
        """Boots etcd and kube-apiserver alone: without a scheduler no claim is allocated, and there is no node."""
        for address in (node.API_ADDRESS, node.NODE_ADDRESS):
            subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)
        self._start(node.etcd())
        certificates.make(node.CERTIFICATES, ["127.0.0.1", node.API_ADDRESS, node.NODE_ADDRESS])
        for client in ("admin", "controller-manager", "scheduler", "kubelet"):
            certificates.write_kubeconfig(node.CERTIFICATES, client, node.API_URL, node.KUBECONFIGS / f"{client}.conf")
        self.api_server = self._start(node.kube_apiserver())
        self.api = Api()
        self._until(self.api.ready, "kube-apiserver /readyz", 60)
        return self

    def _start(self, program: Program) -> Program:
        self.programs.append(program)
        return program.start()

    def check(self) -> None:
        """Raises if one of the programs has exited by itself."""
        for program in list(self.programs):
            program.check()

    def _until(self, probe, what: str, seconds: float) -> None:
        def alive_and_probe():
            self.check()
            return probe()
        until(alive_and_probe, what, seconds)

    def _node_ready(self) -> bool:
        found = self.api.get(f"/api/v1/nodes/{node.NODE}")
        conditions = found["status"].get("conditions", []) if found else []
        ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
        # The first pod of a namespace needs the service account that the controller manager creates.
        return ready and self.api.get("/api/v1/namespaces/default/serviceaccounts/default") is not None

    def restart_kubelet(self, how: signal.Signals = signal.SIGTERM, meanwhile: Callable[[], None] | None = None) -> float:
        """Returns the time of the new start (time.monotonic)."""
        moment = self.kubelet.restart(how, meanwhile)
        until(lambda: self.kubelet.check() or self._kubelet_healthy(), "the kubelet responds after its restart", 60)
        return moment

    def restart_api_server(self, gates: dict[str, bool] = node.GATES) -> None:
        """Kills kube-apiserver and starts it again, optionally with other feature gates."""
        self.api_server.command = node.kube_apiserver(gates).command
        self.api_server.restart(signal.SIGKILL)
        self._until(self.api.ready, "kube-apiserver /readyz", 60)

    def restart_containerd(self) -> None:
        """Kills containerd, whose containers keep running, and starts it again."""
        self.containerd.restart(signal.SIGKILL)
        self._until(self._containerd_responds, "containerd responds", 30)

    def use_cdi(self, enabled: bool) -> None:
        config = Path("/etc/containerd/config.toml")
        config.write_text(re.sub("enable_cdi = .*", f"enable_cdi = {str(enabled).lower()}", config.read_text()))
        self.restart_containerd()

    def restart_controller_manager(self) -> None:
        """Restarts it: its eviction by taints (1.37) misses the deletion of a slice while its watch is cut off, and uses the old slice forever."""
        self.controller_manager.restart(signal.SIGTERM)

    def use_kubelet(self, program: str, topology_policy: str = "none") -> None:
        """Replaces the kubelet. The new one must not find claims of the old one's pods: their state files differ."""
        until(lambda: not [pod for pod in self.api.items("/api/v1/pods") if pod["spec"].get("resourceClaims")],
              "the pods of earlier tests are gone", 60)
        self.programs.remove(self.kubelet)
        self.kubelet.stop()
        (node.KUBELET_ROOT / "dra_manager_state").unlink(missing_ok=True)
        self.kubelet = self._start(node.kubelet(program, topology_policy))
        self._until(self._kubelet_healthy, f"{program} responds", 60)
        self._until(self._node_ready, "the node is Ready again", 60)

    @staticmethod
    def _kubelet_healthy() -> bool:
        with urllib.request.urlopen("http://127.0.0.1:10248/healthz", timeout=2) as response:
            return response.status == 200

    def stop(self) -> None:
        """Stops the programs in reverse order; containers and their shims end with the namespaces, see isolate."""
        for program in reversed(self.programs):
            try:
                program.stop(seconds=5)
            except (Fatal, OSError):
                pass
