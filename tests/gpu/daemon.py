"""The daemon under test, on an embedded node: it needs no Kubernetes, and lives in a folder with a short path."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import urllib.request
import uuid
from pathlib import Path

from machine import Machine
from waiting import Fatal, until

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CARDCAGE_BUILD", SOURCE / "build/release"))
DRIVER = "gpu.nvidia.com"
# The module may run no program, and no claim has parameters: nothing changes a setting of a card.
CONFIG = """\
[node]
name = "gpu-test"
kubelet_root = "{folder}/kubelet"
state_dir = "{folder}/state"
run_dir = "{folder}/run"
cdi_dir = "{folder}/cdi"
modules_dir = "{folder}/modules"
admin_socket = "{folder}/admin.sock"
claims = "{folder}/node"
{roots}
[metrics]
listen = "127.0.0.1:{port}"
{modules}"""
MODULE = """\
[[module]]
name = "{name}"
path = "libcardcage_nvidia.so"
[module.options]
mig = "static"
{options}
[[module.serve]]
driver = "{driver}"
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Daemon:
    def __init__(self, machine: Machine, modules: str = MODULE.format(name="nvidia", options="", driver=DRIVER)):
        module = BUILD / "lib/cardcage/modules/libcardcage_nvidia.so"
        missing = [str(path) for path in (BUILD / "bin/cardcage", BUILD / "bin/cagectl", module) if not path.exists()]
        assert not missing, f"not built: {', '.join(missing)}; build first, or set CARDCAGE_BUILD"
        self.folder = Path(tempfile.mkdtemp(prefix="cage-gpu.", dir="/tmp"))  # a socket path holds at most 107 bytes
        self.port = free_port()
        for name in ("modules", "node/claims"):
            (self.folder / name).mkdir(mode=0o755, parents=True)
        shutil.copy(module, self.folder / "modules")
        roots = "\n".join(f'{key} = "{path}"' for key, path in machine.roots.items())
        config = self.folder / "cardcage.toml"
        config.write_text(CONFIG.format(folder=self.folder, roots=roots, port=self.port, modules=modules))
        with (self.folder / "log").open("w") as log:
            self.process = subprocess.Popen([BUILD / "bin/cardcage", "--config", config], stderr=log)

    def wait_ready(self) -> None:
        try:
            until(self._has_looked, "the module has looked at the GPUs", 60)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.log()}") from None

    def _has_looked(self) -> bool:
        if self.process.poll() is not None:
            raise Fatal(f"the daemon has exited with {self.process.returncode}:\n{self.log()}")
        modules = json.loads(self.cagectl("--json", "modules"))
        health = [device["health"] for device in self.devices().values()]
        # Only Access is known at once.
        if any(module["state"]["state"] != "ready" for module in modules):
            return False
        return all(each["state"] != "healthy" or len(each["causes"]) > 1 for each in health)

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(30)
        finally:
            self.process.kill()
            shutil.rmtree(self.folder)

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def cagectl(self, *arguments: str) -> str:
        done = subprocess.run([BUILD / "bin/cagectl", "--socket", self.folder / "admin.sock", *arguments], text=True,
                              capture_output=True, timeout=90)
        assert done.returncode == 0, f"cagectl {' '.join(map(str, arguments))}: {done.stdout}{done.stderr}"
        return done.stdout

    def devices(self) -> dict[str, dict]:
        """The devices by id, which is the UUID."""
        return {device["id"]: device for device in json.loads(self.cagectl("--json", "devices"))}

    def metrics(self) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30) as page:
            return page.read().decode()

    def processes(self) -> list[int]:
        """The daemon and its workers."""
        found = [self.process.pid]
        for one in found:  # the set grows meanwhile
            for children in Path(f"/proc/{one}/task").glob("*/children"):
                found += map(int, children.read_text().split())
        return found

    def open_files(self) -> list[str]:
        found = []
        for link in (link for process in self.processes() for link in Path(f"/proc/{process}/fd").iterdir()):
            try:
                found.append(os.readlink(link))
            except FileNotFoundError:
                pass  # closed meanwhile
        return found


class Claim:
    """A claim for one device without parameters, prepared as the kubelet does it."""

    def __init__(self, daemon: Daemon, device: str, driver: str = DRIVER):
        self.daemon, self.uid = daemon, str(uuid.uuid4())
        self.file = daemon.folder / f"node/claims/default_{device}.json"
        request = {"name": "gpu", "exactly": {"deviceClassName": driver, "allocationMode": "ExactCount", "count": 1}}
        result = {"request": "gpu", "driver": driver, "pool": "gpu-test", "device": device}
        self.file.write_text(json.dumps({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": device, "namespace": "default", "uid": self.uid},
            "spec": {"devices": {"requests": [request]}}, "status": {"allocation": {"devices": {"results": [result]}}}}))

    def prepare(self) -> Path:
        """Returns the CDI file."""
        self._play_kubelet("prepare", "--cdi-dir", str(self.daemon.folder / "cdi"))
        [file] = self.cdi_files()
        return file

    def unprepare(self) -> None:
        self._play_kubelet("unprepare")

    def _play_kubelet(self, call: str, *options: str) -> None:
        self.daemon.cagectl(call, "--kubelet-root", str(self.daemon.folder / "kubelet"), *options, str(self.file))

    def cdi_files(self) -> list[Path]:
        return [path for path in (self.daemon.folder / "cdi").glob("*") if self.uid in path.name]

    def __enter__(self) -> "Claim":
        return self

    def __exit__(self, *_) -> None:
        """Releases the device in every case."""
        if self.cdi_files():
            self.unprepare()
        self.file.unlink()
