"""The daemon with other values of the chart for a while, and modules that a test adds as another vendor would."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster import Cluster
from daemon import Daemon, build_folder
from resources import wait_allocatable
from waiting import until

MODULES = Path("/etc/cardcage/modules")  # a node keeps modules here that the image lacks


def class_of(driver: str, name: str = "", **spec) -> dict:
    """The DeviceClass of all devices of a driver, with the driver's name if it has no other."""
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name or driver},
            "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{driver}'"}}], **spec}}


def vendor_module(name: str, options: dict, drivers: tuple[str, ...] = (), resources: tuple[str, ...] = (),
                  file: str = "libcardcage_mock.so") -> dict:
    """Copies a module to the node; returns its entry of vendorModules."""
    MODULES.mkdir(parents=True, exist_ok=True)
    copy = MODULES / f"lib{name}.so"
    shutil.copy(build_folder() / "lib/cardcage/modules" / file, copy)
    return {"name": name, "path": copy.name, "onNode": True, "sha256": hashlib.sha256(copy.read_bytes()).hexdigest(), "options": options,
            "drivers": [{"driver": driver} for driver in drivers], "resources": [{"resource": resource} for resource in resources]}


@contextmanager
def changed_release(cluster: Cluster, daemon: Daemon, values: dict) -> Iterator[None]:
    """Changes the release. Restores it at the end, once all devices are released: a module that is removed could not release its own."""
    daemon.apply(values)
    try:
        yield
    finally:
        try:
            wait_released(daemon)
        finally:
            daemon.apply()
            wait_allocatable(cluster.api)


def wait_released(daemon: Daemon, seconds: float = 60) -> None:
    until(lambda: not json.loads(daemon.cagectl("claims", "--json")), "all devices are released", seconds)
