"""The machine whose GPUs are under test: this one, or a folder with fake GPUs that tests only the suite."""

import os
import re
import shutil
import stat
from pathlib import Path

NODE = os.environ.get("CARDCAGE_GPU_NODE")                              # a folder of `fake-nvidia FOLDER create`
DRIVER_ROOT = Path(os.environ.get("CARDCAGE_GPU_DRIVER_ROOT", "/"))     # as node.driver_root


class Machine:
    """This machine: the kernel and the driver provide the expected values."""

    procfs = Path("/proc")
    runs_cuda = True
    container_files: tuple[str, ...] = ()  # files besides the claim's that nvidia-smi needs in a container

    def __init__(self):
        self.roots = {"driver_root": str(DRIVER_ROOT)}
        folders = os.pathsep.join([os.environ["PATH"], *(str(DRIVER_ROOT / name) for name in ("usr/bin", "bin"))])
        self.smi = shutil.which("nvidia-smi", path=folders)

    def node(self, path: str) -> dict:
        """Type and numbers of a device node."""
        found = os.stat(path)
        kind = "c" if stat.S_ISCHR(found.st_mode) else "b" if stat.S_ISBLK(found.st_mode) else "not a device"
        return {"type": kind, "major": os.major(found.st_rdev), "minor": os.minor(found.st_rdev)}

    def holds_driver(self, opened: str) -> bool:
        """Whether a process that has this file open uses the driver."""
        return opened.startswith("/dev/nvidia")

    def driver_version(self) -> str:
        """The version of the loaded kernel module."""
        line = (self.procfs / "driver/nvidia/version").read_text().splitlines()[0]
        return re.search(r"\s(\d+\.\d[\d.]*)\s", line)[1]

    def capability(self, gpu_minor: int, gpu_instance: int, compute_instance: int | None = None) -> str:
        """The device node that lets a process use a MIG instance."""
        compute = "" if compute_instance is None else f"/ci{compute_instance}"
        file = self.procfs / f"driver/nvidia/capabilities/gpu{gpu_minor}/mig/gi{gpu_instance}{compute}/access"
        minor = re.search(r"DeviceFileMinor: (\d+)", file.read_text())[1]
        return f"/dev/nvidia-caps/nvidia-cap{minor}"


class FakeMachine(Machine):
    """A folder with fake GPUs. Device nodes are plain files: their numbers come from their names and /proc/devices."""

    runs_cuda = False

    def __init__(self, folder: Path):
        self.folder, self.procfs = folder, folder / "proc"
        self.roots = {f"{key}_root": str(folder / name)
                      for key, name in (("driver", "driver"), ("sysfs", "sys"), ("procfs", "proc"), ("devfs", "dev"))}
        self.smi = str(folder / "driver/usr/bin/nvidia-smi")
        self.state = folder / "driver/usr/lib64/fake-nvidia-state"
        self.container_files = (str(self.state),)

    def node(self, path: str) -> dict:
        (self.folder / path.lstrip("/")).stat()
        name = Path(path).name
        owner, minor = {"nvidiactl": ("nvidia", 255), "nvidia-modeset": ("nvidia", 254), "nvidia-uvm": ("nvidia-uvm", 0),
                        "nvidia-uvm-tools": ("nvidia-uvm", 1)}.get(name) or (
            "nvidia-caps" if "nvidia-cap" in name else "nvidia", int(re.search(r"\d+$", name)[0]))
        majors = {words[1]: int(words[0]) for words in map(str.split, (self.procfs / "devices").read_text().splitlines())
                  if len(words) == 2 and words[0].isdigit()}
        return {"type": "c", "major": majors[owner], "minor": minor}

    def holds_driver(self, opened: str) -> bool:
        return opened == str(self.state)


def machine() -> Machine:
    return FakeMachine(Path(NODE).resolve()) if NODE else Machine()
