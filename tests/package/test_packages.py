"""The life of the packages on a node without a cluster: install, prepare a claim, upgrade, remove, purge."""

import glob
import os
import subprocess

import pytest

from conftest import OLDER, PACKAGES, SOURCE

CONFIG = """
[node]
name = "demo"
claims = "/var/lib/claims"

[[module]]
name = "mock"
path = "libcardcage_mock.so"
device_nodes = ["/dev/null"]
[module.process]
user = "nobody"
seccomp = true

[[module.serve]]
driver = "gpu.mock.cardcage.dev"
select = { kind = "gpu" }

[[module.serve]]
driver = "nic.mock.cardcage.dev"
select = { kind = "nic" }
"""
CLAIM = "/var/lib/claims/claims/default_demo.json"
PREPARED = "test \"$(cagectl claims --json | grep -c '\"state\": \"prepared\"')\" = 2"
TRACES = ("find / -xdev \\( -iname '*cardcage*' -o -iname '*cagectl*' \\) -not -path '/packages/*' -not -path '/proc/*' "
          "-not -path '/var/lib/claims/*'; find /run -name '*cardcage*'")


def install(machine, folder):
    machine.run(f"apt-get install -y --no-install-recommends --allow-downgrades /packages/{folder}/c*.deb")


def main_pid(machine):
    return machine.output("systemctl show --property MainPID --value cardcage")


def test_lintian_finds_nothing_that_is_not_explained():
    subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", *glob.glob(f"{PACKAGES}/*.changes")], check=True)


def test_installing_enables_the_unit_and_does_not_start_it(machine):
    install(machine, "older")
    assert machine.run("systemctl is-enabled cardcage").stdout == "enabled\n"
    assert machine.run("systemctl is-active cardcage", check=False).stdout == "inactive\n"
    assert machine.output("dpkg-query --show --showformat '${Version}' cardcage") == OLDER
    assert "/etc/cardcage/cardcage.toml" in machine.output("dpkg-query --show --showformat '${Conffiles}' cardcage")
    for page in "man8/cardcage.8.gz", "man1/cagectl.1.gz":
        machine.run(f"test -s /usr/share/man/{page}")
    machine.run(". /usr/share/bash-completion/completions/cagectl")


def test_the_shipped_configuration_is_valid(machine):
    machine.run("NODE_NAME=demo cardcage --check /etc/cardcage/cardcage.toml")


def test_the_unit_prepares_a_claim(machine):
    with open(f"{SOURCE}/config/demo-claim.json", encoding="utf-8") as claim:
        machine.write(CLAIM, claim.read())
    machine.write("/etc/cardcage/cardcage.toml", CONFIG)
    machine.run("cardcage --check /etc/cardcage/cardcage.toml && systemctl start cardcage")
    machine.wait_for("cagectl devices | grep -q gpu-1")
    assert "/usr/lib/cardcage/modules/libcardcage_mock.so" in machine.output("cagectl modules")
    machine.run(f"cagectl prepare {CLAIM}")
    machine.run(PREPARED)
    assert len(machine.output("ls /var/run/cdi/cardcage.*.json").split()) == 2
    machine.run("systemctl reload cardcage")


def test_a_file_in_the_operators_folder_replaces_that_of_the_package(machine):
    # The daemon keeps a module whose file has the same content.
    machine.run("cd /etc/cardcage/modules && { cat /usr/lib/cardcage/modules/libcardcage_mock.so; echo; } > libcardcage_mock.so")
    machine.wait_for("cagectl modules | grep -q /etc/cardcage/modules/libcardcage_mock.so")
    machine.run("rm /etc/cardcage/modules/libcardcage_mock.so")
    machine.wait_for("cagectl modules | grep -q /usr/lib/cardcage/modules/libcardcage_mock.so")
    machine.run(PREPARED)


def test_an_upgrade_restarts_the_daemon_and_keeps_claims_and_configuration(machine, version):
    before = main_pid(machine)
    install(machine, "new")
    assert machine.output("dpkg-query --show --showformat '${Version}' cardcage") == version
    assert machine.output("cardcage --version") == f"cardcage {version}"
    machine.wait_for("cagectl devices | grep -q gpu-1")
    assert main_pid(machine) not in (before, "0")
    machine.run(PREPARED)
    assert machine.output("cat /etc/cardcage/cardcage.toml") == CONFIG.strip()


def test_removing_is_refused_while_claims_are_prepared(machine):
    refused = machine.run("apt-get remove -y cardcage", check=False)
    assert refused.returncode != 0
    assert "drain the node before you remove the package" in refused.stdout
    assert machine.run("systemctl is-active cardcage").stdout == "active\n"
    machine.run(f"{PREPARED} && cagectl unprepare {CLAIM}")


def test_removing_keeps_configuration_and_state(machine):
    machine.run("apt-get remove -y 'cardcage*' cagectl")
    machine.run("test ! -e /usr/bin/cardcage && test ! -e /usr/lib/cardcage && ! pgrep cardcage")
    machine.run("test -e /var/lib/cardcage/ledger.db")
    assert machine.output("cat /etc/cardcage/cardcage.toml") == CONFIG.strip()


def test_a_purge_keeps_the_state_of_another_daemon(machine):
    install(machine, "new")
    machine.run("systemd-run --unit another flock /run/cardcage sleep 1000")
    machine.wait_for("! flock --nonblock /run/cardcage true")
    assert "another daemon of this node" in machine.output("apt-get purge -y 'cardcage*' cagectl")
    machine.run("test -e /var/lib/cardcage/ledger.db && systemctl stop another")


def test_a_purge_leaves_nothing(machine):
    install(machine, "new")
    machine.run("apt-get purge -y 'cardcage*' cagectl")
    assert machine.output(TRACES) == ""
    machine.run("! systemctl list-unit-files --no-legend 'cardcage*' | grep .")
