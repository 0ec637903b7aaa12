"""Fixtures: one cluster for the whole session, a namespace per test."""

import os
import re
import signal
import sys

import pytest

from cluster import Cluster
from scene import Scene


def pytest_configure(config):
    if "CARDCAGE_CLUSTER_WORK" not in os.environ:
        pytest.exit("start this suite with tests/cluster/run: it needs namespaces of its own", returncode=2)

    def end(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)  # so that teardown happens then, too


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


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    setattr(item, f"report_{report.when}", report)


@pytest.fixture
def scene(cluster, request):
    """An empty namespace named after the test. On a failure, what a person would look at first is printed."""
    name = re.sub(r"[^a-z0-9-]+", "-", request.node.name.lower()).strip("-")[:50]
    scene = Scene(cluster.api, name).open()
    yield scene
    if getattr(request.node, "report_call", None) and request.node.report_call.failed:
        print(scene.picture(), file=sys.stderr)
    scene.close()
