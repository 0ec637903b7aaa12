"""The commands of docs/tutorial-vendor.md from an empty node to a device in a ResourceSlice, on a real API server.

apt-get and systemctl are stand-ins: the build is installed already, and a daemon of its own serves the node. tests/package installs
the packages themselves.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from api_server import ApiServer
from chart import SOURCE
from waiting import until

sys.path.insert(0, str(SOURCE / "tests/pages"))
from pages import run_by  # noqa: E402

COMMANDS = run_by(__file__, "docs/tutorial-vendor.md")
MOST_COMMANDS = 5
LIMIT = 300  # seconds for all commands; a person needs longer to read them

APT_GET = """\
for file in "$@"; do
  case $file in *-module-*.deb) dpkg-deb -x "$file" "$NODE" ;; esac
done
"""
SYSTEMCTL = """\
cat > "$NODE/node" <<END
kubelet_root = "$NODE/kubelet"
state_dir = "$NODE/state"
run_dir = "$NODE/run/cardcage"
cdi_dir = "$NODE/cdi"
features_dir = "$NODE/features"
device_plugins_dir = "$NODE/device-plugins"
admin_socket = "$NODE/admin.sock"
modules_dir = "$NODE/usr/lib/cardcage/modules"
END
sed -e "/^name = .*NODE_NAME/r $NODE/node" -e "s|/etc/kubernetes/admin.conf|$KUBECONFIG|" -e "s|/run/acme|$NODE/run/acme|" \\
  "$NODE/etc/cardcage/cardcage.toml" > "$NODE/used.toml"
printf '[metrics]\\nlisten = ""\\n' >> "$NODE/used.toml"
NODE_NAME=node-a "$DAEMON" --no-restart --config "$NODE/used.toml" > "$NODE/log" 2>&1 &
echo $! > "$NODE/pid"
"""


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\nset -eu\n{text}")
    path.chmod(0o755)


def configured(build: Path) -> Path:
    """The folder with CMake's files: `build` may have the programs alone."""
    return next(folder for folder in (build, SOURCE / "build/release", SOURCE / "build/dev") if (folder / "cmake_install.cmake").exists())


@pytest.fixture(name="node")
def empty_node(tmp_path, build):
    """The folder of the node, and a function that runs a command on it as a reader does."""
    vendor = tmp_path / "vendor"
    subprocess.run(["cmake", "--install", str(configured(build)), "--component", "vendor", "--prefix", str(vendor)], check=True, stdout=subprocess.DEVNULL)
    (vendor / "bin").mkdir()
    shutil.copy(build / "bin/cagectl", vendor / "bin")  # finds its templates beside itself
    programs = tmp_path / "programs"
    node = Path(tempfile.mkdtemp(prefix="node-", dir="/tmp"))  # short: the path of a socket has at most 107 bytes
    for folder in (programs, node / "etc/cardcage", node / "kubelet/plugins_registry"):
        folder.mkdir(parents=True)
    server = ApiServer(tmp_path)
    script(programs / "apt-get", APT_GET)
    script(programs / "systemctl", SYSTEMCTL)
    script(programs / "kubectl", f'exec "{server.kubectl_program}" "$@"\n')
    environment = {"PATH": f"{programs}:{vendor}/bin:/usr/bin:/bin", "HOME": str(tmp_path), "NODE": str(node), "KUBECONFIG": str(server.kubeconfig),
                   "DAEMON": str(build / "bin/cardcage"), "LANG": "C.UTF-8", "CMAKE_GENERATOR": "Ninja"}
    try:
        server.start()
        # The daemon always verifies the server's certificate.
        text = server.kubeconfig.read_text()
        trusted = text.replace("insecure-skip-tls-verify: true", f"certificate-authority: {tmp_path}/certificates/apiserver.crt")
        assert trusted != text
        server.kubeconfig.write_text(trusted)
        server.kubectl("create", "-f", "-", stdin='{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a"}}')
        yield node, lambda command, folder: subprocess.run(["bash", "-euc", command], cwd=folder, env=environment, text=True, capture_output=True,
                                                           timeout=LIMIT)
    finally:
        if (node / "pid").exists():
            print((node / "log").read_text())
            with contextlib.suppress(ProcessLookupError):
                os.kill(int((node / "pid").read_text()), signal.SIGTERM)
        server.stop()
        shutil.rmtree(node, ignore_errors=True)


def test_the_first_device_is_in_a_slice_after_five_commands(node, tmp_path):
    node, run = node
    *commands, show = COMMANDS
    assert len(commands) <= MOST_COMMANDS
    assert show == "kubectl get resourceslices"
    begun = time.monotonic()
    folder = tmp_path
    for command in commands:
        here = command.replace("/etc/cardcage", f"{node}/etc/cardcage").replace("/run/acme", f"{node}/run/acme")
        result = run(here, folder)
        assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
        if command.endswith("&& cd acme"):
            folder = tmp_path / "acme"

    def cards() -> list[str]:
        slices = json.loads(run(f"{show} --output=json", folder).stdout)["items"]
        return [device["name"] for one in slices if one["spec"]["driver"] == "acme.example.com" for device in one["spec"]["devices"]]

    until(lambda: cards() == ["card0"], "the card is in a slice", 60)
    assert time.monotonic() - begun < LIMIT
    assert "acme.example.com" in run(show, folder).stdout
    print(f"{len(commands)} commands, {time.monotonic() - begun:.0f} s")
