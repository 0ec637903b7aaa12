"""Modules whose devices are made ready before a pod gets them, and pods that wait for one."""

from changed_release import vendor_module
from daemon import STATE
from mock import claim, request, use
from scene import Scene, container, pod

FABRIC = "fabric.mock.cardcage.dev"  # gpu-0 cannot be attached, gpu-1 can within seconds
SLOW = "slow.mock.cardcage.dev"      # attaching nic-0 takes longer than the scheduler waits
ATTACHED, FAILED = "mock.cardcage.dev/Attached", "mock.cardcage.dev/AttachFailed"


def binding_module(name: str, devices: str, time: str, driver: str) -> dict:
    return vendor_module(name, {"devices": [devices], "binding": [devices.split(":")[0]], "bind_time": time, "bind_failures": ["gpu-0"],
                                "binds_to_node": True, "mount_dir": f"/var/lib/cardcage/mock-{name}"}, drivers=(driver,))


def fabric_modules() -> list[dict]:
    return [binding_module("fabric", "gpu:2", "4s", FABRIC), binding_module("slow", "nic:3", "1h", SLOW)]


def held(module: str) -> list[str]:
    """The devices that the module holds: "gpu-1@<claim uid>"."""
    return sorted(path.name for path in (STATE / f"mock-{module}").glob("*"))


def results(found: dict | None) -> list[dict]:
    return (found or {}).get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])


def conditions(scene: Scene, name: str) -> dict[str, dict]:
    """The daemon's conditions of the only device of the claim, by type."""
    devices = (scene.get("resourceclaims", name) or {}).get("status", {}).get("devices", [])
    return {condition["type"]: condition for device in devices for condition in device["conditions"]}


def statuses(scene: Scene, name: str) -> dict[str, str]:
    return {kind: condition["status"] for kind, condition in conditions(scene, name).items()}


def start(scene: Scene, name: str, driver: str, cel: str = "") -> None:
    scene.apply(claim(name, request("device", device_class=driver, cel=cel)),
                pod(name, [container(claims=[{"name": "device"}])], [use("device", claim=name)]))
