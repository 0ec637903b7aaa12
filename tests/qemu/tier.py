"""The parts of the emulated machine that differ between the suites."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Tier:
    library: str  # the module of Cardcage that is tested
    modules: list[str]  # modules of Debian's kernel; their dependencies are added
    build: Callable[[Path], list[Path]]  # builds further modules in kernel_build.py's folder, in the order of loading
    parameters: dict[str, str]  # parameters of further modules, by name
    programs: list[str]  # programs besides busybox, where busybox's versions lack features
    devices: list[str]  # options of QEMU
    arguments: str  # arguments for the kernel
    udev: bool = False  # systemd-udevd runs, and names interfaces
