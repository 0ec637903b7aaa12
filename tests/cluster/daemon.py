"""The daemon under test, installed as by a cluster operator: the image of tools/image, with the chart."""

import hashlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import images
from api import Api
from kubectl import execute, kubectl, logs
from node import KUBECONFIGS, NODE
from waiting import until

SOURCE = Path(__file__).resolve().parents[2]
NAMESPACE = "cardcage"
RELEASE = [str(SOURCE / "charts/cardcage"), f"--values={SOURCE / 'tests/cluster/values.yaml'}", "--values=-"]
SELECTOR = "app.kubernetes.io/name=cardcage"
NEXT_TAG = "next"
DAEMON_SET = f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets/cardcage"
CDI = Path("/var/run/cdi")
STATE = Path("/var/lib/cardcage")
PARENT = "cardcage-parent"


def build_folder() -> Path:
    if chosen := os.environ.get("CARDCAGE_BUILD"):
        return Path(chosen)
    release = SOURCE / "build" / "release"
    return release if (release / "bin" / "cardcage").exists() else SOURCE / "build" / "dev"


def image_archive() -> Path:
    found = sorted((SOURCE / "build/image").glob("cardcage-*.tar"), key=lambda file: file.stat().st_mtime)
    assert found, "build/image has no image: run tools/package and tools/image first"
    return found[-1]


def load_next_image(tag: str, daemon: str = "") -> None:
    """Loads the image under another tag, optionally with another build of the daemon."""
    layer = images.Layer().file("/etc/image", tag.encode())  # makes each image different
    if daemon:
        layer.file("/usr/bin/cardcage", build_folder() / "bin" / daemon)
    images.load(images.variant(image_archive(), f"cardcage:{tag}", layer))


def helm(*arguments: str, values: dict | None = None) -> str:
    """Runs helm in the namespace of the release. Values replace those of the suite."""
    done = subprocess.run(["helm", *arguments, f"--kubeconfig={KUBECONFIGS}/admin.conf", f"--namespace={NAMESPACE}"],
                          input=json.dumps(values or {}), text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, f"helm {' '.join(arguments)}: {done.stderr or done.stdout}"
    return done.stdout


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
        self.config = ""  # the digest of the ConfigMap that the pod started with

    def install(self) -> "Daemon":
        images.load(image_archive().read_bytes())
        images.load_debian(image_archive())
        self.apply()
        return self

    def apply(self, values: dict | None = None) -> None:
        """Installs or changes the release. The pod is replaced if its configuration changes: a kubelet shows a changed ConfigMap to a
        running daemon only after a minute."""
        toml = helm("template", "cardcage", *RELEASE, "--show-only=templates/configmap.yaml", values=values)
        self.config = hashlib.sha256(toml.encode()).hexdigest()
        self._upgrade(values)

    def apply_running(self, values: dict | None = None) -> None:
        """Changes the release; the running daemon applies the new configuration by itself."""
        self._upgrade(values)
        # The kubelet updates the ConfigMap at once when the pod changes.
        kubectl("annotate", f"--namespace={NAMESPACE}", "pods", f"--selector={SELECTOR}", "--overwrite", f"changed={time.time()}")

    def request(self, values: dict | None) -> None:
        """Changes the release without waiting for the effect."""
        helm("upgrade", "--install", "cardcage", *RELEASE, "--create-namespace", f"--set-string=podAnnotations.config={self.config}",
             values=values)

    def _upgrade(self, values: dict | None) -> None:
        self.request(values)
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
        return self.api.items(f"/api/v1/namespaces/{NAMESPACE}/pods", labelSelector=SELECTOR)

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
        """The value of the series with these labels, or None."""
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

    def upgrade(self, tag: str = NEXT_TAG, daemon: str = "") -> None:
        """Changes the image, optionally to one with another build of the daemon."""
        load_next_image(tag, daemon)
        self.apply({"image": {"tag": tag}})

    def roll_back(self) -> None:
        """Returns to the previous revision of the release."""
        helm("rollback", "cardcage")
        self._rolled_out()

    def uninstall(self) -> None:
        helm("uninstall", "cardcage")
        self.wait_absent(70)

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
