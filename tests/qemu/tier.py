"""The parts of the emulated machine in which the suites differ."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Tier:
    library: str  # the module of Cardcage that is tested
    modules: list[str]  # those of Debian's kernel, and what they need
    build: Callable[[Path], list[Path]]  # makes further ones in the folder of kernel_build.py; in the order of loading
    parameters: dict[str, str]  # of further modules, by name
    programs: list[str]  # besides busybox, whose own ones know less
    devices: list[str]  # QEMU's
    arguments: str  # of the kernel
    udev: bool = False  # systemd-udevd runs, and names interfaces
