"""Measures the daemon beside a driver on the Go helper library, both on a real API server. Runs inside `isolate`.

Nothing allocates the claims: this program writes their allocation. Nothing is a kubelet either: cluster_bench calls the
drivers, so what is measured are the drivers and the API server, and not the rest of a cluster.
"""

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from account import KUBECONFIG, NAMESPACE, WORK, create_account  # noqa: E402
from api import Api  # noqa: E402
from claims import allocated_claim  # noqa: E402
from cluster import Cluster  # noqa: E402
from daemon import build_folder  # noqa: E402
from node import KUBELET_ROOT, NODE  # noqa: E402
from programs import Program  # noqa: E402
from waiting import until  # noqa: E402

DRIVERS = 4  # per side, for the comparison of memory
CALLERS = 16
PODS_AT_ONCE = 100  # and devices of each driver
# Directly on the bench's ext4, like the peers' checkpoints; /var/lib is an overlay on it.
STATE = KUBELET_ROOT / "cardcage"
PROGRAMS = KUBELET_ROOT / "programs"


@dataclass
class Side:
    """Cardcage or its peers: the programs and their drivers."""
    name: str
    drivers: list[str]
    programs: list[Program]

    def pids(self) -> list[int]:
        """The programs and all their children."""
        found = [program.process.pid for program in self.programs]
        for pid in found:
            for task in Path(f"/proc/{pid}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        return found

    def arguments(self) -> list[str]:
        sockets = [f"{KUBELET_ROOT}/plugins_registry/{driver}-reg.sock" for driver in self.drivers]
        return [f"--{self.name}", *sockets, f"--{self.name}-pids", *map(str, self.pids())]


def create_claims(api: Api, driver: str, count: int) -> list[str]:
    """Creates claims, each allocated to a device of its own. Returns the lines that cluster_bench reads."""
    lines = []
    for i in range(count):
        name = f"{driver.replace('.', '-')}-{i}"
        claim = allocated_claim(api, name, driver, f"gpu-{i}")
        lines.append(f"{driver} {NAMESPACE} {name} {claim['metadata']['uid']} pod-of-{name}")
    return lines


def start_cardcage() -> Side:
    build = build_folder()
    drivers = [f"gpu{i}.mock.cardcage.dev" for i in range(DRIVERS)]
    toml = f"""[node]
name = "{NODE}"
state_dir = "{STATE}"
cdi_dir = "/run/cdi/cardcage"
modules_dir = "{PROGRAMS}"
features_dir = ""
[apiserver]
kubeconfig = "{KUBECONFIG}"
[metrics]
listen = ""
"""
    for i, driver in enumerate(drivers):
        # Four vendors ship four files.
        shutil.copy(build / "lib/cardcage/modules/libcardcage_mock.so", PROGRAMS / f"libmock{i}.so")
        toml += f"""[[module]]
name = "mock{i}"
path = "libmock{i}.so"
[module.options]
devices = ["gpu:{PODS_AT_ONCE}"]
[[module.serve]]
api = "dra"
driver = "{driver}"
"""
    (WORK / "cardcage.toml").write_text(toml)
    return Side("cardcage", drivers, [Program(str(build / "bin/cardcage"), "--config", str(WORK / "cardcage.toml")).start()])


def start_peers(flags: list[str]) -> Side:
    drivers, programs = [f"gpu{i}.peer.cardcage.dev" for i in range(DRIVERS)], []
    for i, driver in enumerate(drivers):
        # A copy each: four vendors ship four programs, which share no memory of their code.
        program = Path(shutil.copy(os.environ["CARDCAGE_BENCH_PEER"], PROGRAMS / f"peer{i}"))
        programs.append(Program(str(program), f"--driver={driver}", f"--node={NODE}", f"--kubeconfig={KUBECONFIG}",
                                "--cdi=/run/cdi/peer", f"--devices={PODS_AT_ONCE}", *flags).start())
    return Side("peer", drivers, programs)


def wait_for_slices(api: Api, side: Side) -> None:
    def published() -> bool:
        for program in side.programs:
            program.check()
        return all(api.slices(driver) for driver in side.drivers)
    until(published, f"slices of {side.name}", 60)


def measure(api: Api, arguments: list[str], peer_flags: list[str]) -> int:
    for folder in (WORK, STATE, PROGRAMS, Path("/run/cdi/cardcage"), Path("/run/cdi/peer"),
                   KUBELET_ROOT / "plugins", KUBELET_ROOT / "plugins_registry"):
        folder.mkdir(parents=True)
    create_account(api)
    api.create("/api/v1/nodes", {"metadata": {"name": NODE}})
    sides = []
    try:
        for start in (start_cardcage, lambda: start_peers(peer_flags)):
            sides.append(start())
            wait_for_slices(api, sides[-1])
        claims = WORK / "claims"
        # The first driver of a side is measured with many callers and in bursts; the others only take memory.
        lines = [line for side in sides for i, driver in enumerate(side.drivers)
                 for line in create_claims(api, driver, PODS_AT_ONCE if i == 0 else CALLERS)]
        claims.write_text("\n".join(lines))
        client = build_folder() / "bin/cluster_bench"
        print(f"state on {filesystem(STATE)}; load average before: {os.getloadavg()[0]:.1f}", flush=True)
        return subprocess.run([client, f"--claims={claims}", f"--kubeconfig={KUBECONFIG}", f"--state={STATE}", f"--kubelet-root={KUBELET_ROOT}",
                               f"--callers={CALLERS}", f"--pods-at-once={PODS_AT_ONCE}", *arguments,
                               *(argument for side in sides for argument in side.arguments())]).returncode
    finally:
        for side in sides:
            for program in side.programs:
                program.stop()


def filesystem(path: Path) -> str:
    return subprocess.run(["stat", "--file-system", "--format=%T", path], check=True, capture_output=True, text=True).stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/bench/run cluster", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: ten seconds instead of a minute")
    parser.add_argument("--durable-peer", action="store_true", help="the peer syncs the folder of its checkpoint, too")
    chosen = parser.parse_args()
    cluster = Cluster()
    try:
        cluster.boot_api_server()
        return measure(cluster.api, ["--rounds=300", "--seconds=5", "--bursts=5"] if chosen.quick else ["--rounds=3000", "--seconds=30", "--bursts=30"],
                       ["--sync-folder"] if chosen.durable_peer else [])
    finally:
        cluster.stop()


if __name__ == "__main__":
    sys.exit(main())
