"""Fixtures: one cluster for the whole session, a namespace per test."""

import hashlib
import os
import re
import signal
import sys

import pytest

from cluster import Cluster
from daemon import Daemon
from scene import Scene


def pytest_configure(config):
    if "CARDCAGE_CLUSTER_WORK" not in os.environ:  # started as plain pytest: restart inside the namespaces
        config.pluginmanager.getplugin("capturemanager").stop_global_capturing()
        run = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run")
        os.execv(run, [run, *config.invocation_params.args])

    def end(*_):
        raise KeyboardInterrupt

    config.stash[measured_key] = []
    signal.signal(signal.SIGTERM, end)  # so that SIGTERM tears the cluster down, too


measured_key = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def measured(request):
    """Prints a figure at the end of the session: measured("kubelet restart to slices: 0.4 s")."""
    return request.config.stash[measured_key].append


def pytest_terminal_summary(terminalreporter, config):
    for line in config.stash[measured_key]:
        terminalreporter.write_line(f"measured: {line}")


@pytest.fixture(scope="session")
def cluster(request):
    capture = request.config.pluginmanager.getplugin("capturemanager")
    cluster = Cluster()
    try:
        cluster.boot()
        with capture.global_and_fixture_disabled():
            print(f"\ncluster: node Ready after {cluster.boot_seconds:.1f} s; logs in {os.environ['CARDCAGE_CLUSTER_LOGS']}")
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="session")
def daemon(cluster):
    """The daemon, installed once. A missing build is a failure, not a reason to skip."""
    return Daemon(cluster.api).install()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    setattr(item, f"report_{report.when}", report)


@pytest.fixture
def scene(cluster, request):
    """An empty namespace named after the test. A failed test prints its objects and the daemon's log."""
    name = re.sub(r"[^a-z0-9-]+", "-", request.node.name.lower()).strip("-")
    if len(name) > 50:  # the cases of one test may have a common beginning
        name = f"{name[:43]}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"
    cluster.check()
    scene = Scene(cluster.api, name).open()
    yield scene
    if getattr(request.node, "report_call", None) and request.node.report_call.failed:
        print(scene.describe(), file=sys.stderr)
        if "daemon" in request.fixturenames:
            print(Daemon(cluster.api).describe(), file=sys.stderr)
    scene.close()
