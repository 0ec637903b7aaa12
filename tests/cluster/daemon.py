"""The daemon under test, installed as a cluster operator installs it: an image and `kubectl apply -k`."""

import json
import os
import signal
import time
from pathlib import Path

import images
from api import Api
from kubectl import execute, kubectl, logs
from node import NODE
from waiting import until

SOURCE = Path(__file__).resolve().parents[2]
NAMESPACE = "cardcage"
IMAGE = "cardcage.test/cardcage:built"
NEXT_IMAGE = "cardcage.test/cardcage:next"
DAEMON_SET = f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets/cardcage"
CDI = Path("/var/run/cdi")
STATE = Path("/var/lib/cardcage")
PARENT = "cardcage-parent"


def build_folder() -> Path:
    if chosen := os.environ.get("CARDCAGE_BUILD"):
        return Path(chosen)
    release = SOURCE / "build" / "release"
    return release if (release / "bin" / "cardcage").exists() else SOURCE / "build" / "dev"


def load_image(name: str = IMAGE, daemon: str = "cardcage") -> None:
    """Makes the image with one of the daemons that were built."""
    build = build_folder()
    missing = [name for name in (f"bin/{daemon}", "bin/cardcage-worker", "bin/cardcage-access", "bin/cardcage-hook", "bin/cagectl", "lib/cardcage/modules/libcardcage_mock.so")
               if not (build / name).exists()]
    assert not missing, f"{build} has no {', '.join(missing)}: build first (or set CARDCAGE_BUILD)"
    layer = images.Layer()
    layer.program("/usr/bin/cardcage", build / "bin" / daemon)
    for program in sorted((build / "bin").iterdir()):
        if program.name in ("cardcage-worker", "cardcage-access", "cardcage-hook", "cagectl", "cardcage-nvidia-mps"):
            layer.program(f"/usr/bin/{program.name}", program)
    for module in sorted((build / "lib/cardcage/modules").glob("*.so")):
        layer.program(f"/usr/lib/cardcage/modules/{module.name}", module)
    # The DaemonSet needs these mount points: its root file system is read-only.
    for folder in ("/usr/lib/cardcage/modules/vendor", "/etc/cardcage", "/var/run/cdi", "/var/lib/cardcage", "/var/lib/kubelet",
                   "/run/cardcage", "/dev", "/proc", "/sys"):
        layer.folder(folder)
    layer.folder("/tmp", 0o1777)
    layer.file("/etc/image", name.encode(), 0o644)  # makes each image different
    images.load(name, layer, ["/usr/bin/cardcage"])


def processes(program: str) -> list[tuple[int, str]]:
    """The process ids and names of all processes that run a program of the image."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "exe") == f"/usr/bin/{program}":
                found.append((int(entry.name), (entry / "comm").read_text().strip()))
        except OSError:
            pass  # a process that has exited, or a kernel thread
    return found


class Daemon:
    def __init__(self, api: Api):
        self.api = api

    def install(self) -> "Daemon":
        load_image()
        self.apply(SOURCE)
        return self

    def apply(self, source: Path) -> None:
        kubectl("apply", "-k", str(source / "tests/cluster/manifests"))
        self._rolled_out()

    def _rolled_out(self) -> None:
        try:
            kubectl("rollout", "status", f"--namespace={NAMESPACE}", "daemonset/cardcage", "--timeout=60s", seconds=70)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.describe()}") from None
        # The next daemon is Ready while it waits, but it serves only once the previous one has exited.
        until(lambda: len(self.pods()) == 1, "the previous daemon has exited", 40)
        self.wait_serving()

    def _registered(self) -> bool:
        drivers = json.loads(self.cagectl("status", "--json"))["drivers"]
        return bool(drivers) and all(driver["registration"]["state"] == "registered" for driver in drivers)

    def pods(self) -> list[dict]:
        return self.api.items(f"/api/v1/namespaces/{NAMESPACE}/pods", labelSelector="app.kubernetes.io/name=cardcage")

    def ready_pod(self) -> str | None:
        for pod in self.pods():
            statuses = pod["status"].get("containerStatuses", [])
            if statuses and statuses[0]["ready"] and "deletionTimestamp" not in pod["metadata"]:
                return pod["metadata"]["name"]
        return None

    def wait_ready(self, seconds: float = 60) -> str:
        try:
            return until(self.ready_pod, "a pod of the daemon is Ready", seconds)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.describe()}") from None

    def wait_absent(self, seconds: float = 40) -> None:
        until(lambda: not self.pods(), "no pod of the daemon is left", seconds)

    def cagectl(self, *arguments: str) -> str:
        return execute(NAMESPACE, self.wait_ready(), "/usr/bin/cagectl", *arguments)

    def log(self) -> list[str]:
        """The log lines of the running daemon."""
        return logs(NAMESPACE, self.wait_ready()).splitlines()

    def metric(self, name: str, **labels: str) -> float | None:
        """The value of the series with these labels, or nothing."""
        page = kubectl("get", "--raw", f"/api/v1/namespaces/{NAMESPACE}/pods/{self.wait_ready()}:9471/proxy/metrics")
        for line in page.splitlines():
            if line.startswith(name + "{") and all(f'{key}="{value}"' in line for key, value in labels.items()):
                return float(line.rsplit(" ", 1)[1])
        return None

    def node_events(self, reason: str, device: str) -> list[str]:
        """The messages of the node's Events about a device."""
        events = self.api.items("/api/v1/namespaces/default/events", fieldSelector=f"involvedObject.kind=Node,reason={reason}")
        return [event["message"] for event in events if device in event["message"]]

    def live_causes(self, device: str) -> dict[str, dict]:
        """The causes of a device that are not healthy, by name."""
        [found] = json.loads(self.cagectl("devices", "--json", device))
        return {cause["cause"]: cause for cause in found["health"]["causes"] if cause["state"] != "healthy"}

    @staticmethod
    def process_ids(program: str = "cardcage") -> list[int]:
        """The process ids of the daemon or its workers; no other daemon is in the process namespace of the suite."""
        return [pid for pid, name in processes(program) if name != PARENT]

    @staticmethod
    def parent_ids() -> list[int]:
        """The first process of the daemon's container, which starts the daemon again."""
        return [pid for pid, name in processes("cardcage") if name == PARENT]

    def kill(self) -> None:
        """Kills the daemon with SIGKILL and waits until the next one serves."""
        self.kill_and_see_start()
        self.wait_serving()

    def kill_and_see_start(self) -> float:
        """Kills the daemon with SIGKILL, waits until its parent has started another, and returns the time of the kill (time.time)."""
        old = self.process_ids()
        assert old, "no daemon is running"
        killed = time.time()
        for pid in old:
            os.kill(pid, signal.SIGKILL)
        until(lambda: set(self.process_ids()) - set(old), "the daemon is started again", 10, every=0.004)
        return killed

    def wait_serving(self) -> None:
        until(self._registered, "the kubelet has registered the drivers", 30)

    def scale_to_nothing(self) -> None:
        """Leaves the DaemonSet installed, but no daemon running."""
        self._patch('{"spec":{"template":{"spec":{"nodeSelector":{"no-such-label":"x"}}}}}')
        self.wait_absent()

    def scale_back(self) -> str:
        self._patch('{"spec":{"template":{"spec":{"nodeSelector":{"no-such-label":null}}}}}')
        return self.wait_ready()

    def _patch(self, patch: str) -> None:
        kubectl("patch", f"--namespace={NAMESPACE}", "daemonset", "cardcage", "--type=strategic", "--patch", patch)

    def replace_pod(self) -> None:
        """Replaces the pod, as an update does."""
        kubectl("rollout", "restart", f"--namespace={NAMESPACE}", "daemonset/cardcage")
        self._rolled_out()

    def upgrade(self, image: str = NEXT_IMAGE, daemon: str = "cardcage") -> None:
        """Changes the image, as an operator does."""
        load_image(image, daemon)
        kubectl("set", "image", f"--namespace={NAMESPACE}", "daemonset/cardcage", f"cardcage={image}")
        self._rolled_out()

    def slices(self, driver: str) -> list[dict]:
        return [item for item in self.api.slices(driver) if item["spec"].get("nodeName") == NODE]

    def devices(self, driver: str) -> list[dict]:
        return [device for item in self.slices(driver) for device in item["spec"].get("devices", [])]

    def cdi_files(self, claim_uid: str) -> list[Path]:
        return [path for path in (CDI.iterdir() if CDI.exists() else []) if claim_uid in path.name]

    def describe(self) -> str:
        where = f"--namespace={NAMESPACE}"
        return "\n".join([
            "--- the daemon",
            kubectl("describe", where, "daemonsets,pods", check=False),
            kubectl("logs", where, "daemonset/cardcage", "--tail=60", check=False),
            kubectl("logs", where, "daemonset/cardcage", "--tail=30", "--previous", check=False),
        ])
