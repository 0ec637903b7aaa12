"""Fixtures: one daemon for the whole session, whose log a failed test prints."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "cluster"))  # for its `until`

import smi  # noqa: E402
from daemon import Daemon  # noqa: E402
from machine import NODE, Machine  # noqa: E402
from machine import machine as choose_machine  # noqa: E402
from waiting import Fatal  # noqa: E402


def pytest_report_header():
    return f"GPUs: the fake ones in {NODE}, which test only this suite" if NODE else "GPUs: those of this machine"


@pytest.fixture(scope="session")
def machine() -> Machine:
    return choose_machine()


@pytest.fixture(scope="session")
def report(machine) -> smi.Report:
    try:
        found = smi.Report(machine.smi)
        assert found.gpus, "nvidia-smi lists no GPU"
        return found
    except AssertionError as error:
        pytest.exit(f"FAILED: there is nothing to compare with: {error}", returncode=1)


@pytest.fixture(scope="session")
def instances(machine, report) -> dict[str, smi.Instance]:
    return smi.instances(machine.smi, report)


@pytest.fixture(scope="session")
def daemon(machine, report):
    daemon = Daemon(machine)
    try:
        daemon.wait_ready()
        yield daemon
    except (Fatal, TimeoutError) as error:
        pytest.exit(f"FAILED: {error}", returncode=1)
    finally:
        daemon.stop()


@pytest.fixture
def devices(daemon) -> dict[str, dict]:
    """The current devices, by UUID. The first test checks that they are complete."""
    return daemon.devices() or pytest.skip("Cardcage has no devices on this machine")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed and "daemon" in item.funcargs:
        report.sections.append(("the daemon's log", item.funcargs["daemon"].log()))
