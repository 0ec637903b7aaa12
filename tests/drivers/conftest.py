"""Fixtures: a node for each driver branch and layout."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
# The daemon and claims of the suite for real GPUs, and its bounded waiting.
sys.path += [str(TESTS / "gpu"), str(TESTS / "cluster")]

from layouts import LAYOUTS  # noqa: E402
from node import BRANCHES, Node  # noqa: E402


def pytest_report_header():
    return f"driver packages: {roots()}"


def roots() -> Path:
    return Path(subprocess.run([TESTS / "drivers/roots"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip())


@pytest.fixture(scope="session")
def driver_roots() -> Path:
    return roots()


@pytest.fixture(scope="session", params=[(branch, layout) for branch in BRANCHES for layout in LAYOUTS], ids="-".join)
def node(request, driver_roots):
    made = Node(driver_roots, *request.param)
    try:
        made.use_fake_nvml()
        yield made
    finally:
        made.remove()


@pytest.fixture(params=BRANCHES)
def node_without_gpu(request, driver_roots):
    """The node with NVIDIA's own libnvidia-ml."""
    made = Node(driver_roots, request.param, "rpm")
    try:
        yield made
    finally:
        made.remove()


@pytest.fixture(scope="session")
def toolkit() -> Path:
    build = [TESTS / "cluster/build-programs", "nvidia-ctk"]
    built = subprocess.run(build, check=True, text=True, stdout=subprocess.PIPE)
    return Path(built.stdout.strip()) / "nvidia-ctk"


@pytest.fixture(scope="session")
def used_reasons() -> set[str]:
    """The reasons for differences that some node needed."""
    return set()
