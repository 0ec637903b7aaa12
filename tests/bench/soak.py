"""Lets a daemon work for hours on a real API server: claims come and go, devices fail and recover, workers are killed,
modules and configurations are replaced, the API server restarts. Nothing that the daemon keeps may grow meanwhile. Runs
inside `isolate`.

The daemon itself is not restarted, since a restart would hide what it leaks. `cagectl` makes the calls of a kubelet.
"""

import argparse
import csv
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from account import KUBECONFIG, WORK, create_account  # noqa: E402
from api import RESOURCES, Api  # noqa: E402
from claims import CLAIMS, allocated_claim  # noqa: E402
from cluster import Cluster  # noqa: E402
from daemon import build_folder  # noqa: E402
from node import KUBELET_ROOT, NODE  # noqa: E402
from programs import LOGS, Program  # noqa: E402
from waiting import until  # noqa: E402

DRIVER = "gpu.mock.cardcage.dev"
DEVICES = 16
CALLERS = 2
CLAIMS_PER_MINUTE = 200
HISTORY = 10_000  # rows that the ledger keeps
STATE, RUN, CDI = KUBELET_ROOT / "cardcage", WORK / "run", Path("/run/cdi/cardcage")
MODULE, SCRIPT, CONFIG, SOCKET = WORK / "libmock.so", WORK / "script", WORK / "cardcage.toml", WORK / "admin.sock"
METRICS = "127.0.0.1:9471"
CAUSES = ("Ecc", "Link", "Thermal")  # causes that the mock module declares

WARM_UP = 0.25        # share of the run: caches fill, and the heap finds its size
BLOCKS = 20           # means of equal spans: single samples depend on their neighbours
STUDENT_T = 2.101     # 95 %, two-sided, for 18 degrees of freedom
MAX_GROWTH = 0.01     # share of the mean, per hour


class Daemon:
    def __init__(self):
        self.build = build_folder()
        self.version = 0
        self.replace_module()
        SCRIPT.touch()
        self.configure()
        self.program = Program(str(self.build / "bin/cardcage"), "--config", str(CONFIG)).start()

    def configure(self) -> None:
        """Writes a configuration that differs from the one before in an option that the module takes while it runs, and
        each third time in one that needs a new instance."""
        self.version += 1
        text = f"""[node]
name = "{NODE}"
state_dir = "{STATE}"
run_dir = "{RUN}"
cdi_dir = "{CDI}"
modules_dir = "{WORK}"
admin_socket = "{SOCKET}"
features_dir = ""
[apiserver]
kubeconfig = "{KUBECONFIG}"
[metrics]
listen = "{METRICS}"
[[module]]
name = "mock"
path = "{MODULE.name}"
[module.options]
devices = ["gpu:{DEVICES}"]
script_file = "{SCRIPT}"
mount_dir = "{WORK}/hardware"
journal = true
prepare_delay = "{self.version % 2}ms"
gpu_memory_gib = {32 + self.version // 3 % 2}
[[module.serve]]
api = "dra"
driver = "{DRIVER}"
"""
        _replace(CONFIG, text.encode())

    def replace_module(self) -> None:
        """Installs a file with another hash each time. No program reads the bytes at its end."""
        original = (self.build / "lib/cardcage/modules/libcardcage_mock.so").read_bytes()
        _replace(MODULE, original + str(time.monotonic_ns()).encode())

    def cagectl(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.build / "bin/cagectl", "--socket", SOCKET, *arguments], capture_output=True, text=True, timeout=120)

    def report(self, *arguments: str):
        done = self.cagectl("--json", *arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def processes(self) -> dict[int, str]:
        """The daemon, its parent and its workers."""
        found = {}
        queue = [self.program.process.pid]
        for pid in queue:
            try:
                found[pid] = Path(f"/proc/{pid}/comm").read_text().strip()
                for task in Path(f"/proc/{pid}/task").iterdir():
                    queue += map(int, (task / "children").read_text().split())
            except OSError:
                found.pop(pid, None)  # it has just ended
        return found


def _replace(path: Path, content: bytes) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_bytes(content)
    fresh.rename(path)


class Claims(threading.Thread):
    """Creates a claim, prepares it, unprepares it and deletes it, again and again, on devices of its own."""

    def __init__(self, daemon: Daemon, number: int):
        super().__init__(daemon=True)
        self.caller, self.number, self.api = daemon.cagectl, number, Api()
        self.pause = 0.0
        self.stopped = threading.Event()
        self.done, self.retried, self.failures = 0, 0, []

    def run(self) -> None:
        due = time.monotonic()
        for turn in itertools.count():
            if self.stopped.is_set():
                return
            try:
                self._cycle(turn)
            except Exception as error:  # the run reports it
                self.failures.append(f"{type(error).__name__}: {error}")
            due = max(due + self.pause, time.monotonic() - self.pause)
            self.stopped.wait(max(0.0, due - time.monotonic()))

    def _cycle(self, turn: int) -> None:
        name, device = f"claim-{self.number}-{turn}", f"gpu-{self.number + CALLERS * (turn % (DEVICES // CALLERS))}"
        claim = until(lambda: allocated_claim(self.api, name, DRIVER, device), f"claim {name} is created", 120, every=0.5)
        file = WORK / f"{name}.json"
        file.write_text(json.dumps(claim))
        for command in ("prepare", "unprepare"):
            self._call(command, file)
        file.unlink()
        until(lambda: self.api.request("DELETE", f"{CLAIMS}/{name}")[0] in (200, 404), f"claim {name} is deleted", 120, every=0.5)
        self.done += 1

    def _call(self, command: str, file: Path) -> None:
        end = time.monotonic() + 90
        for attempt in itertools.count():
            done = self.caller(command, "--cdi-dir", str(CDI), str(file)) if command == "prepare" else self.caller(command, str(file))
            if done.returncode == 0:
                self.retried += attempt > 0
                return
            if time.monotonic() > end:
                raise RuntimeError(f"{command}: {done.stderr.strip()}")
            time.sleep(1)  # as a kubelet, which waits longer


class Faults(threading.Thread):
    """One fault or change after the other, in an order that the seed decides."""

    def __init__(self, cluster: Cluster, daemon: Daemon, seed: int):
        super().__init__(daemon=True)
        self.cluster, self.daemon, self.random = cluster, daemon, random.Random(seed)
        self.count: Counter[str] = Counter()
        self.failures: list[str] = []
        self.stopped = threading.Event()
        self.choices = {"worker killed": (self._worker_killed, 1), "health storm": (self._health_storm, 4),
                        "configuration changed": (daemon.configure, 3), "module replaced": (daemon.replace_module, 2),
                        "API server killed": (cluster.restart_api_server, 0.5), "slices deleted": (self._slices_deleted, 1),
                        "CDI files deleted": (self._cdi_files_deleted, 1), "reports read": (self._reports_read, 2)}

    def run(self) -> None:
        while not self.stopped.wait(self.random.uniform(3, 9)):
            [name] = self.random.choices(list(self.choices), [weight for _, weight in self.choices.values()])
            try:
                self.choices[name][0]()
            except Exception as error:  # the run reports it
                self.failures.append(f"{name}: {type(error).__name__}: {error}")
            self.count[name] += 1

    def _worker_killed(self) -> None:
        for pid, name in self.daemon.processes().items():
            if name == "cardcage-worker":
                os.kill(pid, 9)

    def _health_storm(self) -> None:
        """500 statements about all devices within two seconds; at the end all are healthy."""
        lines = []
        for i in range(500 - DEVICES):
            device, cause = f"gpu-{self.random.randrange(DEVICES)}", self.random.choice(CAUSES)
            state = self.random.choice(["ok", "bad Storm a fault", "degraded Storm a weakness"])
            lines.append(f"{i * 4}ms health {device} {state.replace(' Storm', f' cause={cause} Storm', 1) if ' ' in state else f'ok cause={cause}'}")
        lines += [f"2100ms health gpu-{device} ok cause={cause}" for device in range(DEVICES) for cause in CAUSES]
        _replace(SCRIPT, ("\n".join(lines) + "\n").encode())

    def _slices_deleted(self) -> None:
        for found in self.cluster.api.slices(DRIVER):
            self.cluster.api.delete(f"{RESOURCES}/resourceslices/{found['metadata']['name']}")

    @staticmethod
    def _cdi_files_deleted() -> None:
        for file in CDI.iterdir():
            file.unlink(missing_ok=True)

    def _reports_read(self) -> None:
        for command in (["status"], ["devices"], ["claims"], ["history", "--limit", "1000"], ["health"], ["modules"]):
            self.daemon.report(*command)


def _files(folder: Path) -> list[Path]:
    return [found for found in folder.rglob("*") if found.is_file()] if folder.exists() else []


def _size_kib(folder: Path) -> float:
    sizes = []
    for file in _files(folder):
        try:
            sizes.append(file.stat().st_size)
        except FileNotFoundError:
            pass  # it has just been removed
    return sum(sizes) / 1024


def sample(daemon: Daemon) -> dict[str, float]:
    daemon.program.check()
    seen: Counter[str] = Counter()
    for pid, name in daemon.processes().items():
        part = "workers" if name == "cardcage-worker" else "daemon"
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text().split("\n")
            seen[f"memory of {part}, private KiB"] += sum(int(line.split()[1]) for line in rollup if line.startswith(("Private_Dirty:", "Swap:")))
            seen[f"descriptors of {part}"] += len(os.listdir(f"/proc/{pid}/fd"))
        except OSError:
            pass  # it has just ended
    seen["ledger, KiB"] = _size_kib(STATE)
    seen["files of intents and journals"] = len(_files(RUN))
    seen["CDI files"] = len(_files(CDI))
    seen["files of the module"] = len(_files(WORK / "hardware"))
    with urllib.request.urlopen(f"http://{METRICS}/metrics", timeout=30) as response:
        seen["metrics series"] = sum(not line.startswith(b"#") for line in response)
    return dict(seen)


def slope(times: list[float], values: list[float]) -> tuple[float, float]:
    """The slope per hour, and half of its 95 % confidence interval."""
    size = len(values) / BLOCKS
    blocks = [range(round(i * size), round((i + 1) * size)) for i in range(BLOCKS)]
    x = [statistics.fmean(times[i] for i in block) / 3600 for block in blocks]
    y = [statistics.fmean(values[i] for i in block) for block in blocks]
    fit = statistics.linear_regression(x, y)
    spread = sum((each - statistics.fmean(x)) ** 2 for each in x)
    error = sum((y[i] - fit.intercept - fit.slope * x[i]) ** 2 for i in range(BLOCKS)) / (BLOCKS - 2)
    return fit.slope, STUDENT_T * (error / spread) ** 0.5


def judge(times: list[float], samples: list[dict[str, float]]) -> list[str]:
    """Prints a line for each figure after the warm-up; returns those that grow."""
    begin = int(len(samples) * WARM_UP)
    times, samples = times[begin:], samples[begin:]
    growing = []
    print(f"{'figure':<34} {'first':>10} {'last':>10} {'per hour, 95 %':>24}")
    block = max(1, len(samples) // BLOCKS)
    for name in samples[0]:
        values = [each.get(name, 0.0) for each in samples]
        rise, half = slope(times, values)
        first, last, mean = statistics.fmean(values[:block]), statistics.fmean(values[-block:]), statistics.fmean(values)
        grows = rise - half > MAX_GROWTH * mean
        print(f"{name:<34} {first:>10.1f} {last:>10.1f} {rise:>12.2f} ± {half:<9.2f} {'GROWS' if grows else 'flat'}")
        if grows:
            growing.append(name)
    return growing


def soak(cluster: Cluster, seconds: float, seed: int) -> int:
    for folder in (WORK, STATE, RUN, CDI, KUBELET_ROOT / "plugins", KUBELET_ROOT / "plugins_registry"):
        folder.mkdir(parents=True)
    create_account(cluster.api)
    cluster.api.create("/api/v1/nodes", {"metadata": {"name": NODE}})
    daemon = Daemon()
    callers: list[Claims] = []
    try:
        until(lambda: daemon.program.check() or cluster.api.slices(DRIVER), "the slices are published", 60)
        callers = [Claims(daemon, number) for number in range(CALLERS)]
        faults = Faults(cluster, daemon, seed)
        for thread in (*callers, faults):
            thread.start()
        until(lambda: daemon.program.check() or len(daemon.report("history", "--limit", str(HISTORY))) >= HISTORY,
              f"the history has its {HISTORY} rows", 7200, every=10)
        print(f"soak: seed {seed}; the history was full after {sum(each.done for each in callers)} claims", flush=True)
        for caller in callers:
            caller.pause = 60 * CALLERS / CLAIMS_PER_MINUTE
        before, started = sum(each.done for each in callers), time.monotonic()
        times, samples = [0.0], [sample(daemon)]
        with (LOGS / "soak.csv").open("w", buffering=1) as table:
            rows = csv.DictWriter(table, ["seconds", *samples[0]], restval=0)
            rows.writeheader()
            while time.monotonic() - started < seconds:
                time.sleep(min(15, seconds / BLOCKS / 3))
                samples.append(sample(daemon))
                times.append(time.monotonic() - started)
                rows.writerow({"seconds": round(times[-1]), **samples[-1]})
        claims = sum(each.done for each in callers) - before
        for thread in (faults, *callers):
            thread.stopped.set()
            thread.join(200)
    finally:
        for caller in callers:
            caller.stopped.set()
        daemon.program.stop()
    print(f"soak: {claims} claims in {seconds / 60:g} min ({claims * 60 / seconds:.0f}/min), {sum(each.retried for each in callers)} calls tried again; "
          f"{', '.join(f'{count} {name}' for name, count in sorted(faults.count.items()))}")
    growing = judge(times, samples)
    failures = [failure for each in (faults, *callers) for failure in each.failures]
    for failure in failures[:20]:
        print(f"soak: failed: {failure}")
    failed = len(growing) + len(failures)
    print(f"soak: {len(samples[0]) - len(growing) + claims} passed, {failed} failed")
    return failed > 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/bench/run soak", description=__doc__)
    parser.add_argument("minutes", nargs="?", type=float, default=120, help="after the history is full (120)")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    chosen = parser.parse_args()
    cluster = Cluster()
    try:
        cluster.boot_api_server()
        return soak(cluster, 60 * chosen.minutes, chosen.seed)
    finally:
        cluster.stop()


if __name__ == "__main__":
    sys.exit(main())
