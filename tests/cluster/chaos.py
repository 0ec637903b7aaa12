"""Random faults of a node: processes are killed or frozen, and files that others need are deleted."""

import os
import random
import signal
import time
from dataclasses import dataclass

from cluster import Cluster
from daemon import CDI, Daemon
from mock import DRIVER
from node import KUBELET_ROOT
from resources import DEVICE_PLUGINS, KUBELET_SOCKET


@dataclass
class Fault:
    """What was done, from its begin until it was undone (time.time)."""
    name: str
    begun: float
    undone: float


class Chaos:
    """Causes one fault after the other. Equal seeds give equal faults at equal moments."""

    def __init__(self, cluster: Cluster, daemon: Daemon, seed: int):
        self.cluster, self.daemon = cluster, daemon
        self.random = random.Random(seed)
        self.faults: list[Fault] = []
        self.choices = {
            "daemon killed": self._daemon_killed, "daemon frozen": self._daemon_frozen,
            "worker killed": self._worker_killed, "worker frozen": self._worker_frozen,
            "kubelet killed": lambda: self.cluster.restart_kubelet(signal.SIGKILL),
            "kubelet restarted": self.cluster.restart_kubelet, "kubelet frozen": self._kubelet_frozen,
            "API server killed": self.cluster.restart_api_server, "API server frozen": self._api_server_frozen,
            "slices deleted": self._slices_deleted, "sockets deleted": self._sockets_deleted,
            "CDI files deleted": self._cdi_files_deleted,
        }

    def run(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            name = self.random.choice(list(self.choices))
            begun = time.time()
            self.choices[name]()
            self.faults.append(Fault(name, begun, time.time()))
            time.sleep(self.random.uniform(0.5, 4))

    def cause(self, moment: float) -> str:
        """The last fault that began before the moment and whose consequences may have lasted until then."""
        recovery = 5
        near = [fault for fault in self.faults if fault.begun <= moment <= fault.undone + recovery]
        return near[-1].name if near else "no fault"

    def _kill(self, program: str) -> None:
        for pid in self.daemon.process_ids(program):
            os.kill(pid, signal.SIGKILL)

    def _freeze(self, pids: list[int], shortest: float, longest: float) -> None:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(self.random.uniform(shortest, longest))
        for pid in pids:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass  # somebody has ended it

    def _daemon_killed(self) -> None:
        self._kill("cardcage")

    def _worker_killed(self) -> None:
        self._kill("cardcage-worker")

    def _daemon_frozen(self) -> None:
        self._freeze(self.daemon.process_ids(), 0.5, 3)

    def _worker_frozen(self) -> None:
        self._freeze(self.daemon.process_ids("cardcage-worker"), 0.5, 6)

    def _kubelet_frozen(self) -> None:
        self._freeze([self.cluster.kubelet.process.pid], 0.5, 3)

    def _api_server_frozen(self) -> None:
        self._freeze([self.cluster.api_server.process.pid], 0.5, 6)

    def _slices_deleted(self) -> None:
        for item in self.daemon.slices(DRIVER):
            self.cluster.api.delete(f"/apis/resource.k8s.io/v1/resourceslices/{item['metadata']['name']}")

    @staticmethod
    def _sockets_deleted() -> None:
        for folder in (DEVICE_PLUGINS, KUBELET_ROOT / "plugins_registry", *(KUBELET_ROOT / "plugins").iterdir()):
            for path in folder.iterdir():
                if path.is_socket() and path != KUBELET_SOCKET:
                    path.unlink(missing_ok=True)

    @staticmethod
    def _cdi_files_deleted() -> None:
        for path in CDI.iterdir():
            path.unlink(missing_ok=True)
