"""Builds netdevsim, the kernel's simulated network card. Debian's kernels come without it."""

import shutil
import subprocess
from pathlib import Path

SOURCE = "drivers/net/netdevsim"


def packages(release: str) -> list[str]:
    """What a build for the kernel `release` ("6.12.95+deb12-amd64") needs of Debian."""
    version, _, architecture = release.rpartition("-")
    series = ".".join(version.split(".")[:2])
    return [f"linux-source-{series}", f"linux-headers-{release}", f"linux-headers-{version}-common", f"linux-kbuild-{version}"]


def build(folder: Path, release: str) -> Path:
    """Builds from the packages extracted in `folder`; returns the module."""
    sources = folder / "usr/src"
    [archive] = sources.glob("linux-source-*.tar.xz")
    name = archive.name.removesuffix(".tar.xz")
    run = lambda *command: subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    run("tar", "xJf", archive, "-C", folder, f"{name}/{SOURCE}")
    headers = sources / f"linux-headers-{release}"
    # It names the other package at its place of installation.
    (headers / "Makefile").write_text(f"include {sources}/linux-headers-{release.rpartition('-')[0]}-common/Makefile\n")
    # BTF needs pahole, and nobody reads it here.
    run("make", "-C", headers, f"M={folder}/{name}/{SOURCE}", "CONFIG_NETDEVSIM=m", "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules")
    module = folder / "netdevsim.ko"
    shutil.move(folder / name / SOURCE / module.name, module)
    run("strip", "--strip-debug", module)
    return module
