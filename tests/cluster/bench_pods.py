"""Measures the time from the creation of a pod until it is running: a pod without devices, pods with a device of the mock, of the NVIDIA
module on its fake driver and of the NIC module, and a pod with a device of a driver on the Go helper library. Runs inside `isolate`, for
`tools/test bench pods`.

The kinds take turns, so a busy machine changes the figures but hardly their differences. CARDCAGE_BENCH_ROUNDS (default 20) is the number
of pods of each kind.
"""

import http.client
import json
import os
import ssl
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

from api import Api
from changed_release import class_of, wait_released
from cluster import Cluster
from daemon import Daemon
from kubectl import apply
from latency import latency
from mock import claim, request, use
from mock import DRIVER as MOCK
from node import API_URL, CERTIFICATES, KUBECONFIGS, KUBELET_ROOT, NODE
from programs import Program
from scene import Scene, container, pod
from test_75_nvidia import DRIVER as NVIDIA
from test_75_nvidia import ROOT, fake, release
from test_78_nic import DRIVER as NIC
from test_78_nic import GATEWAY, LAN, RELEASE, interfaces, ip, make_interfaces, nic_claim, wait_runtime
from waiting import until

PEER = "gpu.peer.cardcage.dev"
ROUNDS = int(os.environ.get("CARDCAGE_BENCH_ROUNDS", "20"))
# The first pods of a kind read programs and files of the node for the first time.
WARM_UP = 2


@dataclass
class Kind:
    """A kind of pod, and the time in seconds of each until it was running."""
    name: str
    driver: str = ""
    spec: dict | None = None                     # the claim's
    before: Callable[[], object] = lambda: None  # waits until a device is free
    seconds: list[float] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)  # by the kubelet, for the prepare of each


class PodTimes:
    """Starts pods, and sees on a watch when each is running."""

    def __init__(self, scene: Scene):
        self.scene = scene
        address = urlsplit(API_URL)
        context = ssl.create_default_context(cafile=str(CERTIFICATES / "ca.crt"))
        context.load_cert_chain(CERTIFICATES / "admin.crt", CERTIFICATES / "admin.key")
        self.connection = lambda: http.client.HTTPSConnection(address.hostname, address.port, timeout=120, context=context)

    def start(self, kind: Kind, name: str) -> float:
        """Returns the seconds until the pod is running."""
        claims = [use("device", template=kind.driver)] if kind.driver else []
        made = pod(name, [container(claims=[{"name": each["name"]} for each in claims])], claims)
        watch = self.connection()
        query = urlencode({"watch": 1, "fieldSelector": f"metadata.name={name}", "timeoutSeconds": 120})
        watch.request("GET", f"{self.scene.path('pods')}?{query}")
        events = watch.getresponse()
        began = time.monotonic()
        self.scene.api.create(self.scene.path("pods"), made)
        for line in events:
            status = json.loads(line)["object"].get("status", {})
            if status.get("phase") == "Running":
                watch.close()
                return time.monotonic() - began
            if status.get("phase") in ("Failed", "Succeeded"):
                raise AssertionError(f"pod {name}: {status}")
        raise TimeoutError(f"pod {name} is not running after 120 s:\n{self.scene.describe()}")


def prepares(api: Api, driver: str) -> tuple[int, float]:
    """The calls of NodePrepareResources that the kubelet has made, and the seconds that it has waited for them."""
    try:
        found = latency(api, driver, "NodePrepareResources")
    except AssertionError:  # none yet
        return 0, 0.0
    return found.calls, found.calls * found.mean


def measure(times: PodTimes, kind: Kind, number: int) -> None:
    name = f"{kind.name.replace(' ', '-').lower()}-{number}"
    until(lambda: kind.before() or True, f"a device for {name}", 60)
    calls, seconds = prepares(times.scene.api, kind.driver) if kind.driver else (0, 0.0)
    taken = times.start(kind, name)
    if number >= WARM_UP:
        kind.seconds.append(taken)
        if kind.driver:
            calls_after, seconds_after = prepares(times.scene.api, kind.driver)
            assert calls_after > calls, f"the kubelet has not called {kind.driver} for {name}"
            kind.waited.append(seconds_after - seconds)
    times.scene.delete("pods", name)
    times.scene.wait_gone("pods", name, seconds=60)


@contextmanager
def fake_gpus() -> Iterator[None]:
    fake("create", "h100", "3", "580.65.06")
    for options in (["--bind", ROOT, ROOT], ["--make-shared", ROOT]):
        subprocess.run(["mount", *options], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--recursive", "--lazy", ROOT], check=False)


@contextmanager
def lan() -> Iterator[None]:
    ip("link", "add", LAN, "type", "bridge")
    ip("address", "add", f"{GATEWAY}/24", "dev", LAN)
    ip("link", "set", LAN, "up")
    make_interfaces()
    try:
        yield
    finally:
        ip("link", "delete", LAN, check=False)


@contextmanager
def peer(api: Api) -> Iterator[None]:
    """The Go driver, as a process of the node."""
    apply(class_of(PEER))
    program = Program(os.environ["CARDCAGE_BENCH_PEER"], f"--driver={PEER}", f"--node={NODE}", f"--kubeconfig={KUBECONFIGS}/admin.conf",
                      f"--kubelet-root={KUBELET_ROOT}", "--cdi=/var/run/cdi", "--devices=8").start()
    try:
        until(lambda: program.check() or api.slices(PEER), "slices of the peer", 60)
        yield
    finally:
        program.stop()


def free_nic(daemon: Daemon) -> bool:
    make_interfaces()  # the end of a pod destroys those that do not come back
    return "nic-nic0" in interfaces(daemon)


def kinds(daemon: Daemon) -> list[tuple[dict, list[Kind]]]:
    """The chart's values, and the kinds of pods that are measured with them. The fake GPUs are in a sysfs of their own, which has no
    interfaces."""
    nic = nic_claim("nic", "nic0", addresses=["10.77.0.50/24"])["spec"]

    def wait_nic() -> None:
        assert free_nic(daemon), "the slice lacks nic-nic0"

    return [
        (release("static"), [
            Kind("no device"),
            Kind("mock", MOCK, claim("mock", request())["spec"]),
            Kind("NVIDIA", NVIDIA, claim("nvidia", request(device_class=NVIDIA))["spec"]),
            Kind("Go driver", PEER, claim("peer", request(device_class=PEER))["spec"]),
        ]),
        (RELEASE, [Kind("no device"), Kind("NIC", NIC, nic, wait_nic)]),
    ]


def quartiles(values: list[float]) -> str:
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.3f} s ({low:.3f} to {high:.3f})"


def report(groups: list[list[Kind]]) -> None:
    print(f"\ncreation of a pod until it is running, median and quartiles of {ROUNDS}; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{'':12} {'until running':34} {'over no device':>15} {'wait for the driver':>20} {'share':>7}")
    for measured in groups:
        [plain] = [kind for kind in measured if not kind.driver]
        base = statistics.median(plain.seconds)
        for kind in measured:
            line = f"{kind.name:12} {quartiles(kind.seconds):34}"
            if kind.driver:
                median, waited = statistics.median(kind.seconds), statistics.median(kind.waited)
                line += f" {median - base:13.3f} s {waited * 1000:17.1f} ms {waited / median:7.1%}"
            print(line)
    print("The wait is the kubelet's own figure of NodePrepareResources. The remaining time over a pod without devices belongs to the\n"
          "controller that makes the claim, to the scheduler, and to the container runtime; for NICs also to the move into the pod.")


def run(cluster: Cluster) -> None:
    cluster.boot()
    with ExitStack() as stack:
        stack.enter_context(fake_gpus())
        stack.enter_context(lan())
        daemon = Daemon(cluster.api).install()
        stack.enter_context(peer(cluster.api))
        scene = Scene(cluster.api, "bench-pods").open()
        times = PodTimes(scene)
        groups = kinds(daemon)
        for values, measured in groups:
            daemon.apply(values)
            if values is RELEASE:
                wait_runtime(daemon, "connected")
            for kind in measured:
                if kind.driver:
                    scene.apply({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": kind.driver},
                                 "spec": {"spec": kind.spec}})
            for number in range(ROUNDS + WARM_UP):
                # Another kind begins each round, so that none always follows the same one.
                for offset in range(len(measured)):
                    measure(times, measured[(number + offset) % len(measured)], number)
            wait_released(daemon)
        report([measured for _, measured in groups])


def main() -> int:
    assert ROUNDS >= 2, "CARDCAGE_BENCH_ROUNDS must be at least 2"
    cluster = Cluster()
    try:
        run(cluster)
    finally:
        cluster.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
