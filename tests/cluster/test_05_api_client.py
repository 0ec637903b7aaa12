"""The daemon's API client without the daemon, against the real kube-apiserver: HTTP/2, TLS, every served version."""

import json
import os
import subprocess

from daemon import build_folder
from node import KUBECONFIGS


def test_a_version_that_the_server_has_not_reached(cluster):
    """The client tells by the cause that etcd was restored from a backup, and the fake API server responds alike."""
    status, body = cluster.api.request("GET", "/apis/resource.k8s.io/v1/resourceslices?resourceVersion=999999999")
    assert status == 504, body
    assert {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"} in json.loads(body)["details"]["causes"]


def test_client(cluster):
    program = build_folder() / "bin" / "api_client_test"
    assert program.exists(), f"{program} is not built: `tools/test cluster` builds it"
    done = subprocess.run([program, "--gtest_filter=RealApiServerTest.*"], env={**os.environ, "CARDCAGE_CLUSTER_KUBECONFIG": f"{KUBECONFIGS}/admin.conf"},
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and "[  PASSED  ] 6 tests." in done.stdout, done.stdout + done.stderr
