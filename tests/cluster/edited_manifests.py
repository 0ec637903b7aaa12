"""The daemon with manifests that a test has edited, for a while."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster import Cluster
from daemon import SOURCE, Daemon
from kubectl import apply, kubectl
from resources import wait_allocatable
from waiting import until


def copy_manifests(copy: Path) -> Path:
    """Copies what Daemon.apply() needs, and returns the folder with the configuration and the kustomization."""
    for folder in ("config/kubernetes", "tests/cluster/manifests"):
        shutil.copytree(SOURCE / folder, copy / folder)
    return copy / "tests/cluster/manifests"


def class_of(driver: str, name: str = "", **spec) -> dict:
    """The DeviceClass of all devices of a driver, with the driver's name if it has no other."""
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name or driver},
            "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{driver}'"}}], **spec}}


@contextmanager
def more_modules(cluster: Cluster, daemon: Daemon, copy: Path, toml: str, kustomization: str = "", drivers: tuple[str, ...] = (),
                 node: str = "") -> Iterator[None]:
    """Adds modules, a class for each of these drivers, and lines of the table [node]. Removes them at the end, once the modules have
    released their devices: nobody else can."""
    manifests = copy_manifests(copy)
    config = manifests / "cardcage.toml"
    config.write_text(config.read_text().replace("[node]\n", "[node]\n" + node))
    for name, more in (("cardcage.toml", toml), ("kustomization.yaml", kustomization)):
        with (manifests / name).open("a") as file:
            file.write(more)
    for driver in drivers:
        apply(class_of(driver))
    try:
        daemon.apply(copy)
        yield
    finally:
        try:
            until(lambda: not json.loads(daemon.cagectl("claims", "--json")), "all devices are released", 60)
        finally:
            daemon.apply(SOURCE)
            wait_allocatable(cluster.api)
            if drivers:
                kubectl("delete", "deviceclass", *drivers)
