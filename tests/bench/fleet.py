"""Measures the load that the daemons of many nodes put on an API server, beside as many nodes with drivers on the Go
helper library. Runs inside `isolate`.

One process is all nodes of a side: fleet_nodes (C++), and the peer with --fleet (Go). Each node has its own connections:
one of the daemon, and one for each driver of the peer, which is a process of its own on a real node.
"""

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from account import KUBECONFIG, NAMESPACE, WORK, create_account  # noqa: E402
from api import RESOURCES, Api  # noqa: E402
from cluster import Cluster  # noqa: E402
from daemon import build_folder  # noqa: E402
from kubectl import apply  # noqa: E402
from fleet_watch import SliceWatch  # noqa: E402
from node import KUBELET_ROOT  # noqa: E402
from programs import LOGS  # noqa: E402

DRIVERS, DEVICES, CLAIMS = 3, 8, 20  # per node, per driver, in all
READS = 50  # claims per second in a storm
MAX_START_REQUESTS = 7.5  # per node, on average; docs/performance.md
# After a restart of the API server: a watch whose version it has forgotten, a list, a watch; and some for bad luck.
MAX_RETURN_REQUESTS = 4.5
# Processor time on a busy machine may miss its target; beyond this the code is at fault.
FAR_OFF = 1.5
COUNTED = ("resourceslices", "resourceclaims", "nodes")


class Failure(Exception):
    pass


@dataclass
class Usage:
    """What the API server has done so far."""
    cpu: float                # seconds
    requests: dict[str, int]  # by "VERB resource"
    watches: int              # on slices, open now

    def since(self, before: "Usage") -> "Usage":
        names = sorted(self.requests.keys() | before.requests.keys())
        difference = {name: self.requests.get(name, 0) - before.requests.get(name, 0) for name in names}
        return Usage(self.cpu - before.cpu, {name: count for name, count in difference.items() if count > 0}, self.watches)

    @property
    def total(self) -> int:
        return sum(self.requests.values())

    @property
    def counts(self) -> str:
        return ", ".join(f"{name} {count}" for name, count in self.requests.items()) or "none"


@dataclass
class Figures:
    name: str
    start_seconds: float = 0.0       # until all slices are there
    start: Usage | None = None
    steady: Usage | None = None
    outage_seconds: float = 0.0      # after the API server is ready, until all changes of the outage are there
    watches_seconds: float = 0.0     # after the API server is ready, until all watches are open
    returns: int = 0                 # lists, reads of Nodes, and watches after the API server restarted
    storm: Usage | None = None
    reads: dict = field(default_factory=dict)


def say(what: str) -> None:
    print(what, flush=True)


class ApiServerMeter:
    def __init__(self, cluster: Cluster):
        self.cluster = cluster

    def cpu(self) -> float:
        """Processor time in seconds."""
        after_name = Path(f"/proc/{self.cluster.api_server.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        user, system = map(int, after_name[11:13])
        return (user + system) / os.sysconf("SC_CLK_TCK")

    def read(self) -> Usage:
        status, page = self.cluster.api.request("GET", "/metrics")
        assert status == 200, page
        requests: dict[str, int] = {}
        watches = 0
        for line in page.decode().splitlines():
            if line.startswith("apiserver_request_total{"):
                labels, value = parse(line)
                if labels["resource"] in COUNTED:
                    key = f"{labels['verb']} {labels['resource']}"
                    requests[key] = requests.get(key, 0) + int(value)
            elif line.startswith("apiserver_longrunning_requests{"):
                labels, value = parse(line)
                if labels["verb"] == "WATCH" and labels["resource"] == "resourceslices":
                    watches += int(value)
        # An open watch is counted as a request when it ends.
        requests["WATCH resourceslices"] = requests.get("WATCH resourceslices", 0) + watches
        return Usage(self.cpu(), requests, watches)


def parse(line: str) -> tuple[dict[str, str], float]:
    labels, value = line[line.index("{") + 1:].rsplit("} ", 1)
    return dict(re.findall(r'(\w+)="([^"]*)"', labels)), float(value)


class Side:
    """All nodes of one kind in one process, which takes a command per line."""

    def __init__(self, name: str, watches_per_node: int, *command: str):
        self.name, self.watches_per_node = name, watches_per_node
        self.log = (LOGS / f"fleet-{name}.log").open("ab")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.response()

    def send(self, command: str) -> None:
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def response(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            tail = Path(self.log.name).read_text(errors="replace").splitlines()[-15:]
            raise Failure(f"{self.name} exited with {self.process.wait()}:\n" + "\n".join(tail))
        answer = json.loads(line)
        if "error" in answer and "reads" not in answer:
            raise Failure(f"{self.name}: {answer['error']}")
        return answer

    def stop(self) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Fleet:
    def __init__(self, cluster: Cluster, options: argparse.Namespace):
        self.cluster, self.options = cluster, options
        self.api: Api = cluster.api
        self.meter = ApiServerMeter(cluster)
        self.watch = SliceWatch()
        self.checks: list[tuple[bool, str]] = []  # whether each holds
        self.idle = 0.0  # processor time of the API server without nodes, per second
        self.own_watches = 0  # without nodes: that of this program, and one of the API server itself
        self.limit = 60 + 0.1 * options.nodes  # seconds for each step; a machine may be slow

    @property
    def slices(self) -> int:
        return self.options.nodes * DRIVERS

    def measure(self, side: Side) -> Figures:
        figures = Figures(side.name)
        before = self.meter.read()
        began = time.monotonic()
        side.send("start")
        self._until(lambda: self.watch.count() >= self.slices, f"slices of {side.name}")
        figures.start_seconds = self.watch.last_change - began
        side.response()
        self._until(lambda: self.meter.read().watches - before.watches >= self.options.nodes * side.watches_per_node,
                    f"watches of {side.name}", 1)
        figures.start = self.meter.read().since(before)
        say(f"start: all slices after {figures.start_seconds:.1f} s; requests: {figures.start.counts}")
        self.check(self.watch.count() == self.slices, f"{side.name}: {self.watch.count()} of {self.slices} slices after the start")

        before, began = self.meter.read(), time.monotonic()
        time.sleep(self.options.steady)
        figures.steady = self.meter.read().since(before)
        figures.steady.cpu -= self.idle * (time.monotonic() - began)
        say(f"idle: {figures.steady.total} requests and {figures.steady.cpu:.1f} s of the API server's processor time")

        self._restart(side, figures)
        self._storm(side, figures)
        self.check(self.watch.count() == self.slices, f"{side.name}: {self.watch.count()} of {self.slices} slices after the storm")
        return figures

    def _restart(self, side: Side, figures: Figures) -> None:
        newest = self.watch.newest()
        self.cluster.api_server.stop(signal.SIGKILL)
        side.send("touch")
        side.response()
        self.cluster.api_server.start()
        self._until(self.api.ready, "the API server after its restart")
        ready_at = time.monotonic()
        self.watch.reconnect()
        self._until(lambda: self.watch.count_newer(newest) >= self.options.nodes, f"changes of {side.name} during the outage")
        figures.outage_seconds = max(self.watch.last_change - ready_at, 0)
        wanted = self.own_watches + self.options.nodes * side.watches_per_node
        self._until(lambda: self.meter.read().watches >= wanted, f"watches of {side.name} after the restart", 1)
        figures.watches_seconds = time.monotonic() - ready_at
        requests = self.meter.read().requests  # the API server counts from its start
        figures.returns = sum(requests.get(name, 0) for name in ("LIST resourceslices", "GET nodes", "WATCH resourceslices"))
        figures.returns -= self.own_watches
        say(f"API server restarted: all changes after {figures.outage_seconds:.1f} s, all watches after {figures.watches_seconds:.1f} s")

    def _storm(self, side: Side, figures: Figures) -> None:
        before = self.meter.read()
        changes = self.options.nodes * DRIVERS * DEVICES * 0.01
        side.send(f"storm {self.options.storm} {changes} {READS}")
        figures.reads = side.response()
        figures.storm = self.meter.read().since(before)
        figures.storm.cpu -= self.idle * self.options.storm
        self.check(figures.reads["failed"] == 0,
                   f"{side.name}: {figures.reads['failed']} of {figures.reads['reads']} reads of a claim failed in the storm {figures.reads['error']}")
        say(f"storm: {figures.reads['reads']} claims read, p50 {figures.reads['p50_ms']:.1f} ms, p99 {figures.reads['p99_ms']:.1f} ms")

    def _until(self, probe, what: str, pause: float = 0.1) -> None:
        end = time.monotonic() + self.limit
        while not self._try(probe):
            self.cluster.check()
            if time.monotonic() > end:
                raise Failure(f"{what}: not there after {self.limit:.0f} s ({self.watch.count()} of {self.slices} slices)")
            time.sleep(pause)

    @staticmethod
    def _try(probe) -> bool:
        try:
            return probe()
        except OSError:
            return False  # with thousands of nodes the API server may take longer than the client waits

    def check(self, holds: bool, what: str) -> None:
        self.checks.append((holds, what))

    def prepare(self) -> None:
        """Creates the chart's priority levels, nodes, and claims to read."""
        apply_priorities()
        for number in range(self.options.nodes):
            self.api.create("/api/v1/nodes", {"metadata": {"name": f"fleet-{number:05}"}})
        folder = f"{RESOURCES}/namespaces/{NAMESPACE}/resourceclaims"
        for number in range(CLAIMS):
            claim = self.api.create(folder, {"metadata": {"name": f"claim-{number}"}, "spec": {"devices": {"requests": [
                {"name": "gpu", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}]}}})
            result = {"request": "gpu", "driver": "gpu0.fleet.cardcage.dev", "pool": "fleet-00000", "device": "gpu-0"}
            claim["status"] = {"allocation": {"devices": {"results": [result]}}}
            status, body = self.api.request("PUT", f"{folder}/claim-{number}/status", claim)
            assert status == 200, body
        self.watch.start()
        before, began = self.meter.cpu(), time.monotonic()
        time.sleep(max(5, self.options.steady / 8))  # its error counts for each idle second
        self.idle = (self.meter.cpu() - before) / (time.monotonic() - began)
        self.own_watches = self.meter.read().watches

    def remove_slices(self) -> None:
        def empty() -> bool:
            self.api.delete(f"{RESOURCES}/resourceslices")
            return self.watch.count() == 0
        self._until(empty, "removal of the slices", 1)
        self._until(lambda: self.meter.read().watches <= self.own_watches, "end of the watches", 1)


def apply_priorities() -> None:
    """Applies what the chart installs for large clusters. Both sides use the service account that it names."""
    rendered = subprocess.run(["helm", "template", "cardcage", str(ROOT / "charts/cardcage"), f"--namespace={NAMESPACE}",
                               "--set=apf.enabled=true", "--set=modules.mock.enabled=true",
                               "--show-only=templates/priority-and-fairness.yaml"], check=True, capture_output=True, text=True).stdout
    apply(*(each for each in yaml.safe_load_all(rendered) if each))


def ratio(ours: float, peers: float) -> float | None:
    return ours / peers if peers > 0 else None


def report(fleet: Fleet, ours: Figures, peers: Figures) -> None:
    nodes = fleet.options.nodes
    hours = nodes * fleet.options.steady / 3600 / 1000
    print(f"\n{nodes} nodes with {DRIVERS} drivers of {DEVICES} devices each; load average {os.getloadavg()[0]:.1f} on "
          f"{os.cpu_count()} cores; API server without nodes: {fleet.idle * 100:.1f} % of a core")
    print(f"{'':56} {'cardcage':>10} {'Go helper':>10} {'ratio':>7}  target")
    # A watch lasts 8 to 10 minutes, and one of the peer 5 to 10, so a shorter idle phase sees too few renewals.
    fewer, cheaper = (0.5, 0.3) if fleet.options.steady >= 600 else (None, None)
    rows: list[tuple[str, float, float, float | None]] = [
        ("start: until all slices are there, s", ours.start_seconds, peers.start_seconds, None),
        ("start: requests per node", ours.start.total / nodes, peers.start.total / nodes, None),
        ("start: CPU of the API server per node, ms", ours.start.cpu / nodes * 1e3, peers.start.cpu / nodes * 1e3, None),
        (f"{fleet.options.steady} idle seconds: requests", ours.steady.total, peers.steady.total, fewer),
        ("idle: CPU of the API server per 1,000 node-hours, s", ours.steady.cpu / hours, peers.steady.cpu / hours, cheaper),
        ("API server restarted: until changes are there, s", ours.outage_seconds, peers.outage_seconds, None),
        ("API server restarted: until the last watch, s", ours.watches_seconds, peers.watches_seconds, None),
        ("API server restarted: lists, Nodes, watches per node", ours.returns / nodes, peers.returns / nodes, None),
        ("1 % of devices per second: requests", ours.storm.total, peers.storm.total, None),
        ("1 % of devices per second: CPU of the API server, s", ours.storm.cpu, peers.storm.cpu, None),
        ("1 % of devices per second: read of a claim, p50 ms", ours.reads["p50_ms"], peers.reads["p50_ms"], None),
        ("1 % of devices per second: read of a claim, p99 ms", ours.reads["p99_ms"], peers.reads["p99_ms"], None),
    ]
    for name, mine, other, target in rows:
        quotient = ratio(mine, other)
        shown = f"{quotient:6.2f}x" if quotient is not None else "      –"
        verdict = "" if target is None or quotient is None else f"≤ {target}" + ("" if quotient <= target else ": missed")
        print(f"{name:56} {mine:10.1f} {other:10.1f} {shown}  {verdict}")
    if fewer is None:
        print("the idle phase is too short for renewals of watches; --steady 800 is not")
    for phase in ("start", "steady", "storm"):
        for figures in (ours, peers):
            print(f"requests, {phase}, {figures.name}: {getattr(figures, phase).counts}")
    judge(fleet, ours, peers)


def judge(fleet: Fleet, ours: Figures, peers: Figures) -> None:
    """Counts of requests hardly depend on the machine; processor time and seconds do, and fail only far off."""
    nodes = fleet.options.nodes
    start, returns = ours.start.total / nodes, ours.returns / nodes
    fleet.check(start < MAX_START_REQUESTS, f"start: {start:.1f} requests per node, fewer than {MAX_START_REQUESTS}")
    fleet.check(ours.start.total < peers.start.total, f"start: {start:.1f} requests per node, fewer than {peers.start.total / nodes:.1f} of the peer")
    fleet.check(ours.start.cpu < FAR_OFF * peers.start.cpu, f"start: the API server takes {ours.start.cpu / peers.start.cpu:.2f} x the time "
                f"for the peer, less than {FAR_OFF}")
    fleet.check(returns < MAX_RETURN_REQUESTS, f"restart of the API server: {returns:.1f} lists, Nodes and watches per node, fewer than {MAX_RETURN_REQUESTS}")
    fleet.check(ours.steady.total <= peers.steady.total + 0.1 * nodes, f"idle: {ours.steady.total} requests, at most as many as the peer: "
                f"{peers.steady.total}, and a tenth of the nodes")


def summarize(checks: list[tuple[bool, str]], seconds: float) -> bool:
    for holds, what in checks:
        print(f"{'ok' if holds else 'FAILED':7} {what}")
    failed = sum(not holds for holds, _ in checks)
    print(f"fleet: {len(checks) - failed} passed, {failed} failed in {seconds:.0f} s", flush=True)
    return failed == 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/test fleet", description=__doc__)
    parser.add_argument("nodes", nargs="?", type=int, default=500)
    parser.add_argument("--steady", type=int, default=25, metavar="SECONDS", help="length of the idle phase (default 25)")
    parser.add_argument("--storm", type=int, default=15, metavar="SECONDS", help="length of the storm (default 15)")
    parser.add_argument("--quick", action="store_true", help="for CI: 5 idle seconds, and a storm of 10 s")
    options = parser.parse_args()
    if options.quick:
        options.steady, options.storm = 5, 10
    began = time.monotonic()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    cluster = Cluster()
    checks: list[tuple[bool, str]] = []
    try:
        cluster.boot_api_server()
        for folder in (WORK, KUBELET_ROOT / "fleet"):
            folder.mkdir(parents=True, exist_ok=True)
        create_account(cluster.api)
        fleet = Fleet(cluster, options)
        checks = fleet.checks
        fleet.prepare()
        figures = []
        shared = (f"--kubeconfig={KUBECONFIG}", f"--drivers={DRIVERS}", f"--devices={DEVICES}", f"--claims={CLAIMS}",
                  f"--namespace={NAMESPACE}")
        for name, watches, command in (
                ("cardcage", 1, (str(build_folder() / "bin/fleet_nodes"), f"--nodes={options.nodes}")),
                ("peer", DRIVERS, (os.environ["CARDCAGE_BENCH_PEER"], f"--fleet={options.nodes}",
                                   f"--kubelet-root={KUBELET_ROOT}/fleet"))):
            if figures:
                fleet.remove_slices()
            say(f"==> {name}: {options.nodes} nodes")
            side = Side(name, watches, *command, *shared)
            try:
                figures.append(fleet.measure(side))
            finally:
                side.stop()
        report(fleet, *figures)
    except Failure as failure:
        checks.append((False, str(failure)))
    finally:
        cluster.stop()
    return 0 if summarize(checks, time.monotonic() - began) else 1


if __name__ == "__main__":
    sys.exit(main())
