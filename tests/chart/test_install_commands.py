"""The commands of docs/install.md and README.md for a cluster, in their order, on an API server without nodes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from api_server import ApiServer
from chart import HELM, SOURCE

sys.path.insert(0, str(SOURCE / "tests/pages"))
from pages import run_by  # noqa: E402

# Kinds of the Prometheus Operator, which a reader's cluster has.
MONITORING = "\n".join(f"""\
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {kind.lower()}s.monitoring.coreos.com}}
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: {{kind: {kind}, plural: {kind.lower()}s}}
  versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}]
""" for kind in ("ServiceMonitor", "PodMonitor", "PrometheusRule"))


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """A function that runs a command as a reader of the page does, in a copy of the folders that it names."""
    folder = tmp_path_factory.mktemp("install")
    server = ApiServer(folder)
    for name in ("charts", "config", "examples"):
        (folder / name).symlink_to(SOURCE / name)
    (folder / "my-values.yaml").symlink_to(SOURCE / "charts/cardcage/examples/mock.yaml")
    programs = folder / "bin"
    programs.mkdir()
    for name, target in (("helm", HELM), ("kubectl", Path(server.kubectl_program))):
        (programs / name).write_text(f'#!/bin/sh\nexec "{target}" "$@"\n')
        (programs / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "KUBECONFIG": str(server.kubeconfig)}
    try:
        server.start()
        for command in (["create", "-f", "-"], ["wait", "--for=condition=Established", "crds", "--all", "--timeout=30s"]):
            result = server.kubectl(*command, stdin=MONITORING)
            assert result.returncode == 0, result.stderr
        yield lambda command: subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, capture_output=True)
    finally:
        server.stop()


# The first page ends without a release, and the second starts without one.
@pytest.mark.parametrize("page", ["docs/install.md", "README.md"])
def test_every_command_succeeds(shell, page):
    commands = run_by(__file__, page)
    assert commands
    for command in commands:
        # The manifests replace Helm, so they are not applied over its release.
        result = shell(command + " --dry-run=server" if "config/manifests" in command else command)
        assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
