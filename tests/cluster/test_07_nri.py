"""The daemon's plugin of the container runtime without the daemon and without a cluster, against the runtimes' own library."""

import subprocess

from daemon import build_folder


def test_plugin():
    program = build_folder() / "bin" / "api_client_test"
    assert program.exists(), f"{program} is not built: `tools/test cluster` builds it"
    done = subprocess.run([program, "--gtest_filter=RealNriRuntimeTest.*"], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and "[  PASSED  ] 6 tests." in done.stdout, done.stdout + done.stderr
