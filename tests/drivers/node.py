"""A node with a laid-out driver and a fake GPU: all files are NVIDIA's except libnvidia-ml, which needs a GPU."""

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from daemon import BUILD, MODULE, Claim, Daemon

BRANCHES = ("470", "535", "550")
# As operators write them, by the name of the module that has them.
CAPABILITIES = {"compute": ["compute", "utility"], "graphics": ["graphics"], "video": ["video"], "display": ["display"],
                "all": ["all"]}


@dataclass(frozen=True)
class Mount:
    target: str       # in the container
    source: Path      # on the node


class Node:
    """Links to the files of a root, so that the cache is unchanged. They are beside it, on one file system."""

    def __init__(self, roots: Path, branch: str, layout: str):
        self.branch, self.layout = branch, layout
        self.folder = Path(tempfile.mkdtemp(prefix="node.", dir=roots.parent))
        self.root = self.folder / "root"
        shutil.copytree(roots / branch / layout, self.root, symlinks=True, copy_function=os.link)
        [self.nvml] = [path for path in self.root.rglob("libnvidia-ml.so.*") if not path.is_symlink()]
        self.version = self.nvml.name.removeprefix("libnvidia-ml.so.")
        self.fake = self.folder / "fake"
        subprocess.run([BUILD / "bin/fake-nvidia", self.fake, "create", "a100", "1", self.version], check=True,
                       stdout=subprocess.DEVNULL)
        self.roots = {"driver_root": str(self.root), **{f"{key}_root": str(self.fake / name) for key, name in
                                                       (("sysfs", "sys"), ("procfs", "proc"), ("devfs", "dev"))}}

    def use_fake_nvml(self) -> None:
        """The library is a new file: a process may have the old one open."""
        source = self.fake / "driver/usr/lib64"
        shutil.copy(source / "fake-nvidia-state", self.nvml.parent)
        shutil.copy(source / self.nvml.name, self.nvml.with_suffix(".new"))
        self.nvml.with_suffix(".new").rename(self.nvml)

    @cached_property
    def mounts(self) -> dict[str, list[Mount]]:
        """The files that the daemon mounts into containers, by capabilities."""
        modules = "".join(
            MODULE.format(name=name, options=f"driver_capabilities = {json.dumps(words)}", driver=f"{name}.test")
            for name, words in CAPABILITIES.items())
        daemon = Daemon(self, modules)
        try:
            daemon.wait_ready()
            return {name: self._prepare(daemon, f"{name}.test") for name in CAPABILITIES}
        finally:
            daemon.stop()

    def _prepare(self, daemon: Daemon, driver: str) -> list[Mount]:
        with Claim(daemon, "gpu-0", driver) as claim:
            return mounts_of(json.loads(claim.prepare().read_text()))

    @cached_property
    def names(self) -> set[str]:
        """The names of the libraries in the root, and of links to them."""
        return {path.name for path in self.root.rglob("lib*.so*")}

    def inside(self, path: Path) -> str:
        return str(path).removeprefix(str(self.root))

    def remove(self) -> None:
        shutil.rmtree(self.folder)

    def __str__(self) -> str:
        return f"{self.branch} {self.layout}"


def mounts_of(spec: dict) -> list[Mount]:
    edits = [spec.get("containerEdits", {}), *(device["containerEdits"] for device in spec["devices"])]
    mounts = [mount for edit in edits for mount in edit.get("mounts") or []]
    return [Mount(mount["containerPath"], Path(mount["hostPath"])) for mount in mounts]
