"""Random faults of a node: processes are killed or frozen, and files that other programs need are deleted."""

import math
import os
import random
import signal
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from cluster import Cluster
from daemon import CDI, Daemon
from mock import DRIVER
from node import KUBELET_ROOT
from resources import COUNTS, DEVICE_PLUGINS, FPGA, KUBELET_SOCKET, listed


DAEMON_KILLED, CONTAINER_KILLED, WORKER_KILLED = "daemon killed", "container killed", "worker killed"
LONGEST_FREEZE = 3  # seconds, of the daemon and the kubelet
RESTART_GRACE = 5  # seconds: the default of the resource's option restart_grace
RARE = {CONTAINER_KILLED: 0.25}  # the kubelet waits longer before each new start of a container


@dataclass
class Fault:
    """A fault, from its beginning until it was undone (time.time)."""
    name: str
    begun: float
    undone: float


@dataclass
class Outage:
    """The time in which the kubelet may have no healthy device of FPGA and reject pods because of that, from `begun` until `ended` (time.time)."""
    fault: str
    begun: float
    over: float  # later checkpoints of the kubelet have the devices after the fault
    ended: float = math.inf


class Chaos:
    """Causes one fault after the other while the context is open. Equal seeds give equal faults at equal moments.

    No plugin can keep the kubelet from rejecting pods during an outage. The kubelet marks all devices of a resource
    unhealthy when the connection to the plugin ends, and knows no devices when it starts; both last until it has the next
    list. So only the end of the daemon or of the kubelet is an outage: a frozen process keeps its connections, and the
    daemon replaces a deleted socket without a new registration. While a worker restarts, the daemon lists its devices as
    healthy for RESTART_GRACE and lets Allocate wait. Each pause before a restart is twice as long as the one before, so a
    worker that is killed repeatedly causes outages, too.
    """

    def __init__(self, cluster: Cluster, daemon: Daemon, seed: int):
        self.cluster, self.daemon = cluster, daemon
        self.random = random.Random(seed)
        self.faults: list[Fault] = []
        self.outages: list[Outage] = []
        self.closed = threading.Event()
        self.watching: Future | None = None
        self.pause = 1  # seconds before the worker's next restart; the daemon forgets it when it ends
        self.choices = {
            DAEMON_KILLED: self._daemon_killed, CONTAINER_KILLED: self._container_killed, "daemon frozen": self._daemon_frozen,
            WORKER_KILLED: self._worker_killed, "worker frozen": self._worker_frozen,
            "kubelet killed": lambda: self._kubelet_ended(signal.SIGKILL),
            "kubelet restarted": lambda: self._kubelet_ended(signal.SIGTERM), "kubelet frozen": self._kubelet_frozen,
            "API server killed": self.cluster.restart_api_server, "API server frozen": self._api_server_frozen,
            "slices deleted": self._slices_deleted, "sockets deleted": self._sockets_deleted,
            "CDI files deleted": self._cdi_files_deleted,
        }

    def __enter__(self) -> "Chaos":
        executor = ThreadPoolExecutor(1)
        self.watching = executor.submit(self._watch_lists)
        executor.shutdown(wait=False)
        return self

    def __exit__(self, *_) -> None:
        self.closed.set()
        self.watching.result()

    def run(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            [name] = self.random.choices(list(self.choices), [RARE.get(name, 1) for name in self.choices])
            begun = time.time()
            over = self.choices[name]()
            self.faults.append(Fault(name, begun, time.time()))
            if over:
                self.outages.append(Outage(name, begun, over))
            time.sleep(self.random.uniform(0.5, 4))

    def _watch_lists(self) -> None:
        """Ends each outage when the kubelet has all devices again, however long this machine takes."""
        while not self.closed.wait(0.05):
            written, devices = listed()
            if len(devices.get(FPGA, ())) == COUNTS[FPGA]:
                for outage in self.outages:
                    if outage.over < written < outage.ended:
                        outage.ended = written

    def outage(self, moment: float) -> Outage | None:
        """The outage that overlaps the second from this moment."""
        return next((outage for outage in self.outages if outage.begun < moment + 1 and moment < outage.ended), None)

    def alone(self, outage: Outage) -> bool:
        """Whether no other outage overlaps this one."""
        return not any(other is not outage and other.begun < outage.ended and outage.begun < other.ended for other in self.outages)

    def last_fault(self, moment: float) -> str:
        """The last fault that began before the end of the second from this moment; a hint for readers."""
        begun = [fault for fault in self.faults if fault.begun < moment + 1]
        return f"{moment - begun[-1].undone:.0f} s after {begun[-1].name}" if begun else "before all faults"

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
                pass  # the process has already ended

    def _daemon_killed(self) -> float:
        self._kill("cardcage")
        self.pause = 1
        return time.time() + 0.05  # the kubelet reads the end of a connection at once, and no daemon starts that soon

    def _container_killed(self) -> float:
        """Kills the parent of the daemon: a running kubelet restarts the container once it has reached the API server."""
        for pid in self.daemon.parent_ids():
            os.kill(pid, signal.SIGKILL)
        self.pause = 1
        return time.time()

    def _kubelet_ended(self, how: signal.Signals) -> float:
        started = self.cluster.restart_kubelet(how)
        return time.time() - (time.monotonic() - started)

    def _worker_killed(self) -> None:
        self._kill("cardcage-worker")
        away = self.pause + 1 + LONGEST_FREEZE  # it starts within a second, unless the daemon is frozen meanwhile
        self.pause *= 2
        if away > RESTART_GRACE:
            grace_ended = time.time() + RESTART_GRACE
            self.outages.append(Outage(WORKER_KILLED, begun=grace_ended, over=grace_ended))

    def _daemon_frozen(self) -> None:
        self._freeze(self.daemon.process_ids(), 0.5, LONGEST_FREEZE)

    def _worker_frozen(self) -> None:
        self._freeze(self.daemon.process_ids("cardcage-worker"), 0.5, 6)

    def _kubelet_frozen(self) -> None:
        self._freeze([self.cluster.kubelet.process.pid], 0.5, LONGEST_FREEZE)

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
