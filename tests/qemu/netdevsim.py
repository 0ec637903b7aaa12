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


def make(folder: Path, release: str, sources: Path, name: str, *settings: str) -> Path:
    """Builds the module `name` of the folder `sources` for the kernel whose packages are extracted in `folder`."""
    headers = folder / "usr/src" / f"linux-headers-{release}"
    # It names the other package at its place of installation.
    (headers / "Makefile").write_text(f"include {folder}/usr/src/linux-headers-{release.rpartition('-')[0]}-common/Makefile\n")
    run = lambda *command: subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    # BTF needs pahole, and nobody reads it here.
    run("make", "-C", headers, f"M={sources}", "CONFIG_DEBUG_INFO_BTF_MODULES=", *settings, "modules")
    module = folder / f"{name}.ko"
    shutil.move(sources / module.name, module)
    run("strip", "--strip-debug", module)
    return module


def extract(folder: Path, source: str) -> Path:
    """Extracts a folder of the kernel's sources from the package in `folder`."""
    [archive] = (folder / "usr/src").glob("linux-source-*.tar.xz")
    name = archive.name.removesuffix(".tar.xz")
    subprocess.run(["tar", "xJf", archive, "-C", folder, f"{name}/{source}"], check=True)
    return folder / name / source


def build(folder: Path, release: str) -> Path:
    """Builds from the packages extracted in `folder`; returns the module."""
    return make(folder, release, extract(folder, SOURCE), "netdevsim", "CONFIG_NETDEVSIM=m")
