"""Fixtures: the packages, an older version of them, and a machine per suite."""

import glob
import os
import re
import shutil
import subprocess

import pytest

from machine import Machine

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGES = os.environ.get("CARDCAGE_PACKAGES", f"{SOURCE}/build/packages")
OLDER = "0.0.1"


def files(folder):
    """The packages of a folder by name."""
    return {os.path.basename(file).split("_")[0]: file for file in sorted(glob.glob(f"{folder}/*.deb"))}


def version_of(name):
    return subprocess.run(["dpkg-deb", "--field", files(PACKAGES)[name], "Version"], check=True, stdout=subprocess.PIPE,
                          text=True).stdout.strip()


def make_older(file, folder, scratch):
    """The same package with a lower version."""
    tree = f"{scratch}/{os.path.basename(file)}"
    subprocess.run(["dpkg-deb", "--raw-extract", file, tree], check=True)
    with open(f"{tree}/DEBIAN/control", encoding="utf-8") as control:
        text = control.read()
    version = re.search(r"^Version: (.*)$", text, re.MULTILINE)[1]
    with open(f"{tree}/DEBIAN/control", "w", encoding="utf-8") as control:
        control.write(text.replace(f"Version: {version}\n", f"Version: {OLDER}\n").replace(f"(= {version})", f"(= {OLDER})"))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, folder], check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """A folder with the folders "new" and "older"."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "new").mkdir()
    (folder / "older").mkdir()
    found = files(PACKAGES)
    assert found, f"no packages in {PACKAGES}: run tools/package"
    for file in found.values():
        shutil.copy(file, folder / "new")
        make_older(file, folder / "older", tmp_path_factory.mktemp("older"))
    return folder


@pytest.fixture(scope="session")
def version():
    return version_of("cardcage")


@pytest.fixture(scope="module", params=["bookworm", "trixie"])
def machine(request, packages):
    machine = Machine(request.param, str(packages))
    yield machine
    machine.end()
