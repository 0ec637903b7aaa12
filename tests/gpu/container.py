"""A container with the edits of a CDI file, started by runc or crun as the CDI specification requires of a runtime."""

import json
import os
import re
import shutil
import subprocess
import uuid
from pathlib import Path

from machine import Machine
from smi import run

BASE_MOUNTS = [
    {"destination": "/proc", "type": "proc", "source": "proc"},
    {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
]


def runtime() -> str | None:
    folders = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    return shutil.which("runc", path=folders) or shutil.which("crun", path=folders)


def edits(file: Path) -> dict[str, list]:
    """The edits of a CDI file that is for one container: those for all devices and those of each."""
    spec = json.loads(file.read_text())
    parts = [spec.get("containerEdits", {})] + [device["containerEdits"] for device in spec["devices"]]
    return {kind: [each for part in parts for each in part.get(kind, [])] for kind in ("env", "deviceNodes", "mounts", "hooks")}


def libraries(program: str) -> set[str]:
    """The files that this machine's dynamic loader loads for a program or library, including the loader."""
    return set(re.findall(r"(/\S+) \(0x", run("ldd", program)))


class Bundle:
    """A root file system without NVIDIA's driver, and the configuration of a container on it."""

    def __init__(self, folder: Path, machine: Machine, cdi_file: Path):
        self.folder, self.rootfs = folder, folder / "rootfs"
        self.edits = edits(cdi_file)
        self.edits["mounts"] += [{"hostPath": path, "containerPath": f"/usr/lib64/{Path(path).name}", "options": ["rbind", "rw"]}
                                 for path in machine.container_files]
        of_driver = {mount["hostPath"] for mount in self.edits["mounts"]}
        wanted = [path for path in of_driver if Path(path).name.startswith(("nvidia-smi", "libnvidia-ml.so", "libcuda.so"))]
        self.libraries = sorted({path for each in wanted for path in libraries(each) if str(Path(path).resolve()) not in of_driver})
        for path in self.libraries:
            self.add(path, path)

    def add(self, file: str | Path, path: str) -> None:
        """Copies a file of this machine to a path in the container."""
        target = self.rootfs / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)

    def run(self, *command: str) -> str:
        done = self._start(list(command), self.edits)
        assert done.returncode == 0, f"{' '.join(command)} in a container exits with {done.returncode}: {done.stdout}"
        return done.stdout

    def obstacle(self) -> str:
        """The reason why this machine runs no container at all, or empty: a container itself may lack the rights."""
        [loader] = [path for path in self.libraries if Path(path).name.startswith("ld-")]
        done = self._start([loader, "--list", next(path for path in self.libraries if path != loader)], {})
        return done.stdout if done.returncode else ""

    def _start(self, command: list[str], edits: dict[str, list]) -> subprocess.CompletedProcess:
        (self.folder / "config.json").write_text(json.dumps(config(command, edits)))
        name = f"cage-gpu-{uuid.uuid4()}"
        base = [runtime(), "--root", str(self.folder / "state")]
        try:
            return subprocess.run([*base, "run", "--bundle", str(self.folder), name], text=True, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        finally:
            subprocess.run([*base, "delete", "--force", name], capture_output=True)


def config(command: list[str], edits: dict[str, list]) -> dict:
    """A configuration of the OCI runtime specification in which only the devices of the edits are allowed."""
    nodes = edits.get("deviceNodes", [])
    mounts = [{"destination": mount["containerPath"], "source": mount["hostPath"], "options": mount["options"]}
              for mount in edits.get("mounts", [])]
    rules = [{"allow": True, "access": node.get("permissions", "rwm"), **numbers(node)} for node in nodes]
    return {
        "ociVersion": "1.0.2", "root": {"path": "rootfs"}, "hostname": "gpu-test", "mounts": BASE_MOUNTS + mounts,
        "hooks": hooks(edits.get("hooks", [])),
        "process": {"user": {"uid": 0, "gid": 0}, "cwd": "/", "args": command, "env": ["PATH=/usr/bin", *edits.get("env", [])]},
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts")],
                  "devices": [{"path": node["path"], "fileMode": 0o666, **numbers(node)} for node in nodes],
                  "resources": {"devices": [{"allow": False, "access": "rwm"}, *rules]}}}


def hooks(given: list[dict]) -> dict[str, list[dict]]:
    """The hooks of a CDI file, as the runtime's configuration has them: by the name of their stage."""
    stages: dict[str, list[dict]] = {}
    for hook in given:
        stages.setdefault(hook["hookName"], []).append({key: value for key, value in hook.items() if key != "hookName"})
    return stages


def numbers(node: dict) -> dict:
    return {key: node[key] for key in ("type", "major", "minor")}
