"""A vendor's module from the package cardcage-dev alone: the machine has no file of the sources."""

import os
import re
import sys

import pytest

from conftest import SOURCE

sys.path.insert(0, os.path.join(SOURCE, "tests/abi"))
import vendor  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def packages_for_vendors(machine):
    names = " ".join(f"/packages/new/{name}_*.deb" for name in ("cardcage-dev", "cagectl", "cardcage"))
    machine.run(f"apt-get install -y --no-install-recommends {names}")


@pytest.mark.parametrize("language", ["c", "cpp", "rust"])
def test_a_new_module_builds_and_prepares_a_claim(machine, language):
    name = f"{language}-card"
    machine.run(f"mkdir -p /root/work && cd /root/work && cagectl module new {name} --language {language}")
    readme = machine.output(f"cat /root/work/{name}/README.md")
    commands = "".join(vendor.SHELL_BLOCK.findall(readme)) + "wait\n"
    seen = machine.run(f"export CMAKE_GENERATOR=Ninja; cd /root/work/{name}\n{commands}", timeout=300).stdout
    for pattern in vendor.readme_patterns(name):
        assert re.search(pattern, seen), f"the commands do not print '{pattern}'"


def test_cmake_finds_the_version(machine):
    machine.write("/root/work/find/CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(find LANGUAGES C)\n"
                  "find_package(cardcage ${WANTED} REQUIRED)\nmessage(STATUS \"version ${cardcage_VERSION}\")\n")
    build = "cd /root/work/find && cmake -G Ninja -B build -DWANTED"
    version = machine.output("pkg-config --modversion cardcage-module")  # the ABI's version, which tests/abi compares with the header
    assert f"version {version}" in machine.output(f"{build}={version}")
    assert machine.run(f"{build}=99.0", check=False).returncode != 0
