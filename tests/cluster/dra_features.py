"""Common parts of tests of DRA features: a module that needs no prepare, classes, and checks for every kubelet."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from changed_release import changed_release, class_of, vendor_module
from daemon import Daemon
from kubectl import apply, kubectl
from mock import DRIVER, allocated, assert_given, claim, request, sees, use
from scene import Scene, container, pod
from waiting import until

PORT_DRIVER = PORT_CLASS = "port.mock.cardcage.dev"
EXTENDED_CLASS, EXTENDED = "extended.mock.cardcage.dev", "mock.cardcage.dev/dra-gpu"


@contextmanager
def added_features(cluster, daemon: Daemon) -> Iterator[None]:
    """Adds a module that needs no prepare, lists of NUMA nodes, and classes; removes them afterwards."""
    apply(class_of(DRIVER, EXTENDED_CLASS, extendedResourceName=EXTENDED))
    try:
        ports = vendor_module("ports", {"devices": ["nic:2"]}, drivers=(PORT_DRIVER,), file="libcardcage_mock_no_prepare.so")
        with changed_release(cluster, daemon, {"vendorModules": [ports], "config": {"node": {"numa_attribute": "list"}}}):
            until(lambda: len(daemon.devices(PORT_DRIVER)) == 2, "the ports are published", 20)
            yield
    finally:
        kubectl("delete", "deviceclass", EXTENDED_CLASS)


def index_is(number: int) -> str:
    return f"device.attributes['{DRIVER}'].index == {number}"


def environment(scene: Scene, name: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in sees(scene, name)["env"] if "=" in line)


def uid_of(scene: Scene, name: str) -> str:
    return scene.get("resourceclaims", name)["metadata"]["uid"]


def check_extended_resource(scene: Scene, daemon: Daemon, resource: str) -> None:
    """The scheduler makes a claim for a pod that only has limits (KEP-5004)."""
    scene.apply(pod("user", [container(limits={resource: 2})]))
    scene.wait_running("user")
    name = scene.get("pods", "user")["status"]["extendedResourceClaimStatus"]["resourceClaimName"]
    uid = uid_of(scene, name)
    assert len(allocated(scene.get("resourceclaims", name))) == 2
    assert_given(scene, daemon, uid, "user")
    scene.delete("pods", "user")
    scene.wait_gone("resourceclaims", name)
    until(lambda: not daemon.cdi_files(uid), "the claim is unprepared", 20)


def check_admin_access(scene: Scene, daemon: Daemon) -> None:
    """An administrator inspects a device that a pod has, without taking it from the pod (KEP-5018)."""
    watch = request(cel=index_is(3))
    watch["exactly"]["adminAccess"] = True
    scene.apply(claim("own", request(cel=index_is(3))), pod("user", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="own")]))
    scene.wait_running("user")
    refused = kubectl("apply", f"--namespace={scene.namespace}", "-f", "-", stdin=json.dumps(claim("watch", watch)), check=False)
    assert "admin" in refused and not scene.get("resourceclaims", "watch"), refused
    kubectl("label", "namespace", scene.namespace, "resource.kubernetes.io/admin-access=true")
    scene.apply(claim("watch", watch), pod("admin", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="watch")]))
    scene.wait_running("admin")
    told = environment(scene, "admin")
    assert told["MOCK_GPU_3_ADMIN"] == "1" and told["MOCK_CLAIM"] == uid_of(scene, "watch")
    scene.delete("pods", "admin")
    scene.wait_gone("pods", "admin")
    assert_given(scene, daemon, uid_of(scene, "own"), "user")
    assert "MOCK_GPU_3_ADMIN" not in environment(scene, "user")
