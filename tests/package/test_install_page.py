"""The commands of docs/install.md for packages, unchanged, on a node without the hardware of the module."""

import os
import sys

import pytest

from conftest import SOURCE

sys.path.insert(0, os.path.join(SOURCE, "tests/pages"))
from pages import run_by  # noqa: E402

COMMANDS = run_by(__file__, "docs/install.md")
# The reader edits the configuration: a node without a cluster, and the module that the page installs.
CONFIG = """
[node]
name = "$NODE_NAME"
claims = "/var/lib/claims"

[[module]]
name = "nvidia"
path = "libcardcage_nvidia.so"

[[module.serve]]
driver = "gpu.nvidia.com"
"""


@pytest.fixture(scope="module", autouse=True)
def reader(machine):
    """Answers the questions of apt and the unit for the reader."""
    machine.write("/etc/apt/apt.conf.d/90tests", 'APT::Get::Assume-Yes "true";\nAPT::Install-Recommends "false";\n')
    machine.write("/etc/cardcage/environment", "NODE_NAME=node\n")


def test_every_command_succeeds(machine):
    assert COMMANDS[0].startswith("apt install")
    for command in COMMANDS:
        machine.run(f"cd /packages/new && {command}")
        if command.startswith("apt install"):
            machine.write("/etc/cardcage/cardcage.toml", CONFIG)


def test_a_module_without_its_hardware_says_so_and_nothing_crashes(machine):
    machine.wait_for("cagectl status | grep -q '^gpu.nvidia.com  *nvidia  *node  *0 '")
    machine.wait_for("cagectl modules nvidia | grep -q 'no libnvidia-ml.so.1 below'")
    assert machine.output("systemctl is-active cardcage") == "active"
    assert machine.output("systemctl show --property NRestarts --value cardcage") == "0"


def test_a_module_whose_file_is_missing_says_so_and_nothing_crashes(machine):
    missing = '[[module]]\nname = "acme"\npath = "libacme.so"\n[[module.serve]]\ndriver = "gpu.acme.com"\n'
    machine.write("/etc/cardcage/cardcage.toml", CONFIG + missing)
    machine.wait_for("cagectl status | grep -q \"warning: module 'acme' is backing off: .*module file 'libacme.so' is in none of\"")
    assert machine.output("systemctl is-active cardcage") == "active"
    assert machine.output("systemctl show --property NRestarts --value cardcage") == "0"
