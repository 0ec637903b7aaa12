"""Device nodes by path (docs/generic.md): FUSE by a claim, TUN by a limit, shared by many pods, and nodes that come and go."""

import os
import stat
from pathlib import Path

import pytest
import yaml

from changed_release import changed_release
from mock import claim, request, sees, use
from resources import wait_allocatable
from scene import EXAMPLES, container, pod
from waiting import until

DRIVER = "generic.cardcage.dev"
TUN = "generic.cardcage.dev/tun"
FUSE_CLASS = "fuse.generic.cardcage.dev"
COMING = Path("/dev/cardcage-test0")  # a second node with the numbers of /dev/null
VALUES = EXAMPLES.parent / "charts/cardcage/examples/generic.yaml"


def release() -> dict:
    values = yaml.safe_load(VALUES.read_text())
    devices = values["modules"]["generic"]["options"]["devices"]
    devices.append({"name": "coming", "paths": ["/dev/cardcage-test*"], "mount_path": "/dev/coming", "env": ["COMING={path}"]})
    return values


@pytest.fixture(scope="module")
def generic(cluster, daemon):
    missing = [path for path in ("/dev/fuse", "/dev/net/tun") if not os.path.exists(path)]
    if missing:
        pytest.skip(f"this machine has no {' and no '.join(missing)}")
    COMING.unlink(missing_ok=True)
    with changed_release(cluster, daemon, release()):
        until(lambda: "fuse" in names(daemon), "the slice has FUSE", 30)
        yield
    COMING.unlink(missing_ok=True)


def names(daemon) -> set[str]:
    return {device["name"] for device in daemon.devices(DRIVER)}


def numbers(path: str) -> str:
    """Major and minor as a container sees them, in hexadecimal."""
    node = os.stat(path).st_rdev
    return f"{os.major(node):x}:{os.minor(node):x}"


def test_example_with_a_claim_and_a_limit(cluster, scene, generic):
    wait_allocatable(cluster.api, {TUN: 100})
    with scene.example("generic-fuse.yaml", "fuse"):
        scene.wait_log("fuse", r"10, 229 .*/dev/fuse")
        scene.wait_log("fuse", r"10, 200 .*/dev/net/tun")
        nodes = sees(scene, "fuse")["nodes"]
        assert nodes["/dev/fuse"] == numbers("/dev/fuse") and nodes["/dev/net/tun"] == numbers("/dev/net/tun")
        assert "/dev/kvm" not in nodes
    scene.wait_gone("pods", "fuse")


def test_example_with_kvm(scene, daemon, generic):
    if "kvm" not in names(daemon):
        pytest.skip("this machine has no /dev/kvm")
    with scene.example("generic-kvm.yaml", "kvm"):
        scene.wait_log("kvm", r"10, 232 .*/dev/kvm")
    scene.wait_gone("pods", "kvm")


def test_pods_share_the_device(scene, generic):
    pods = [f"user-{index}" for index in range(3)]
    for name in pods:
        scene.apply(claim(name, request("fuse", device_class=FUSE_CLASS)),
                    pod(name, [container(claims=[{"name": "fuse"}])], [use("fuse", claim=name)]))
    for name in pods:
        scene.wait_running(name)
        assert sees(scene, name)["nodes"]["/dev/fuse"] == numbers("/dev/fuse")


def test_a_node_that_appears_starts_the_waiting_pod(scene, daemon, generic):
    expression = f"device.attributes['{DRIVER}'].kind == 'coming'"
    scene.apply(claim("coming", request("node", cel=expression, device_class=DRIVER)),
                pod("waiting", [container(claims=[{"name": "node"}])], [use("node", claim="coming")]))
    assert "coming-cardcage-test0" not in names(daemon)
    os.mknod(COMING, stat.S_IFCHR | 0o666, os.stat("/dev/null").st_rdev)
    scene.wait_running("waiting")
    seen = sees(scene, "waiting")
    assert seen["nodes"]["/dev/coming"] == numbers("/dev/null") and "COMING=/dev/coming" in seen["env"]
    scene.delete("pods", "waiting")
    scene.wait_gone("pods", "waiting")
    scene.delete("resourceclaims", "coming")
    COMING.unlink()
    until(lambda: "coming-cardcage-test0" not in names(daemon), "the device is gone", 30)
