"""Builds modules that Debian's kernels lack, from the kernels' own sources."""

import hashlib
import shutil
import subprocess
from pathlib import Path

SOURCES = ["drivers/net/netdevsim", "drivers/fpga", "drivers/vfio"]


def run(*command) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def packages(release: str) -> list[str]:
    """The packages of Debian that a build for the kernel `release` ("6.12.95+deb12-amd64") needs."""
    version = release.rpartition("-")[0]
    series = ".".join(version.split(".")[:2])
    return [f"linux-source-{series}", f"linux-headers-{release}", f"linux-headers-{version}-common",
            f"linux-kbuild-{version}"]


def prepare(folder: Path, release: str) -> None:
    """Prepares the packages that are extracted in `folder` for build()."""
    places = folder / "usr/src"
    [archive] = places.glob("linux-source-*.tar.xz")
    name = archive.name.removesuffix(".tar.xz")
    run("tar", "xJf", archive, "-C", folder, *[f"{name}/{source}" for source in SOURCES])
    archive.unlink()
    (folder / name).rename(folder / "source")
    # The Makefile names the other package at its place of installation.
    common = places / f"linux-headers-{release.rpartition('-')[0]}-common"
    (places / f"linux-headers-{release}/Makefile").write_text(f"include {common}/Makefile\n")


def build(folder: Path, name: str, source: str | None, options: list[str], added: dict[str, Path]) -> Path:
    """Builds the modules of `source`, a folder of the kernel's, with files that are added under these names. Returns
    the folder that has them. Does nothing if that was done before with the same files."""
    place = folder / "built" / name
    digest = hashlib.sha256(" ".join(options).encode())
    if source:
        shutil.copytree(folder / "source" / source, place, dirs_exist_ok=True, copy_function=copy_changed)
    for target, file in sorted(added.items()):
        digest.update(target.encode() + b"\0" + file.read_bytes())
        (place / target).parent.mkdir(parents=True, exist_ok=True)
        copy_changed(file, place / target)
    stamp = place / "built"
    if stamp.exists() and stamp.read_text() == digest.hexdigest():
        return place
    [headers] = (folder / "usr/src").glob("linux-headers-*-amd64")
    # BTF would need pahole, and the tests do not use it.
    run("make", "-C", headers, f"M={place}", *options, "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules")
    run("strip", "--strip-debug", *place.glob("*.ko"))
    stamp.write_text(digest.hexdigest())
    return place


def copy_changed(file, copy) -> None:
    """Copies unless the files are equal, so that make does not rebuild unchanged files."""
    if not Path(copy).exists() or Path(copy).read_bytes() != Path(file).read_bytes():
        shutil.copyfile(file, copy)
