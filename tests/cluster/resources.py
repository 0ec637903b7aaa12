"""The mock's devices in the device-plugin API (values.yaml), and a container's view of them."""

import json
import os
import re
from pathlib import Path

from api import Api
from mock import sees
from node import NODE
from scene import Scene
from waiting import until

FPGA = "mock.cardcage.dev/fpga"        # four on each of two sockets; CDI names in the response
VPU = "mock.cardcage.dev/vpu"          # registered by a call to kubelet.sock; nodes, mounts and env in the response
DSP = "mock.cardcage.dev/dsp.shared"   # two devices, four replicas each; registered by a socket; CDI names as annotations
ASIC = "mock.cardcage.dev/asic"        # cannot be prepared
COUNTS = {FPGA: 8, VPU: 2, DSP: 8, ASIC: 1}
FPGAS_OF_A_SOCKET = [{f"fpga-{index}" for index in range(4)}, {f"fpga-{index}" for index in range(4, 8)}]

DEVICE_PLUGINS = Path("/var/lib/kubelet/device-plugins")
KUBELET_SOCKET = DEVICE_PLUGINS / "kubelet.sock"
# The kubelet rewrites it for each list that it receives and each pod that gets a device, so its time shows when that
# happened.
CHECKPOINT = DEVICE_PLUGINS / "kubelet_internal_checkpoint"


def kind_of(resource: str) -> str:
    return resource.rpartition("/")[2].partition(".")[0]


def told(environment: set[str], resource: str) -> set[str]:
    """The devices that a container's environment names."""
    kind = kind_of(resource)
    return {f"{kind}-{found[1]}" for line in environment if (found := re.match(rf"MOCK_{kind.upper()}_(\d+)=.", line))}


def held(scene: Scene, pod: str, resource: str, container: str = "") -> set[str]:
    """The devices that a container holds. Asserts that its environment, its device nodes and its files agree."""
    seen = sees(scene, pod, container)
    devices = told(seen["env"], resource)
    kind = kind_of(resource)
    null = os.stat("/dev/null").st_rdev
    nodes = {path.removeprefix("/dev/mock/") for path, numbers in seen["nodes"].items()
             if path.startswith(f"/dev/mock/{kind}-") and numbers == f"{os.major(null):x}:{os.minor(null):x}"}
    files = {path.removeprefix("/run/mock/") for path in seen["mounts"] if path.startswith(f"/run/mock/{kind}-")}
    assert devices == nodes == files, f"{pod}/{container}: the environment names {devices}, but there are the nodes {nodes} and the files {files}"
    return devices


def amount(quantity: str) -> int:
    """The API server writes 10000 as 10k."""
    return int(quantity[:-1]) * 1000 if quantity.endswith("k") else int(quantity)


def allocatable(api: Api, *resources: str, field: str = "allocatable") -> list[int]:
    """The amounts that the scheduler sees."""
    offered = api.get(f"/api/v1/nodes/{NODE}")["status"][field]
    return [amount(offered.get(resource, "0")) for resource in resources]


def wait_allocatable(api: Api, counts: dict[str, int] | None = None, seconds: float = 20, field: str = "allocatable") -> None:
    counts = COUNTS if counts is None else counts

    def probe():
        seen = allocatable(api, *counts, field=field)
        assert seen == list(counts.values()), f"{dict(zip(counts, seen))}"
        return True
    until(probe, f"{field} of the node is {counts}", seconds)


def listed() -> tuple[float, dict[str, set[str]]]:
    """The time (time.time) of the kubelet's checkpoint, and the healthy devices of each resource in it."""
    with CHECKPOINT.open() as file:
        written = os.fstat(file.fileno()).st_mtime_ns / 1e9
        return written, {resource: set(ids or []) for resource, ids in json.load(file)["Data"]["RegisteredDevices"].items()}


def wait_listed(since: float, counts: dict[str, int] | None = None, seconds: float = 30) -> float:
    """Waits until the kubelet has the devices of each resource from a list sent after `since`; returns that time."""
    counts = COUNTS if counts is None else counts

    def probe():
        written, devices = listed()
        if written <= since:
            return None
        lacking = {name: len(devices.get(name, ())) for name, count in counts.items() if len(devices.get(name, ())) != count}
        assert not lacking, f"the kubelet has {lacking}"
        return written
    return until(probe, f"the kubelet has the devices of {', '.join(counts)}", seconds, every=0.005)


# A kubelet looks for registration sockets once a second, and after a failure waits for another half second.
WATCH_SECONDS = 2


def restart_kubelet(cluster) -> float:
    """Returns the seconds from the kubelet's listen on a new socket for device plugins until it has all devices."""
    before = KUBELET_SOCKET.stat().st_mtime_ns
    cluster.restart_kubelet()

    def probe():
        made = KUBELET_SOCKET.stat().st_mtime_ns
        return made > before and made / 1e9
    listening = until(probe, "the kubelet listens for device plugins", 30, every=0.005)
    return wait_listed(listening) - listening
