"""The devices, compared with nvidia-smi field by field."""

import re

import pytest

from compare import Differences, known, require_none
from smi import ABSENT, compute_capabilities

UNITS = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
ENGINES = {"multiprocessors": "multiprocessor", "copyEngines": "copy_engine", "decoders": "decoder", "encoders": "encoder",
           "jpegEngines": "jpg", "ofaEngines": "ofa"}


def padded(version: str | None) -> str | None:
    """"580.65.06" as a semantic version: three numbers without leading zeros."""
    if version is None or not version[:1].isdigit():
        return None
    return ".".join(str(int(part)) for part in (version.split(".") + ["0", "0"])[:3])


def mib(quantity: str | None) -> float | None:
    if quantity is None:
        return None
    number, unit = re.fullmatch(r"(\d+)([KMGT]i)?", quantity).groups()
    return round(int(number) * UNITS[unit or ""] / 2**20)  # as nvidia-smi rounds


def plain(brand: str | None) -> str | None:
    """Cardcage writes brands as NVIDIA's DRA driver does: "GeForceRTX" for "GeForce RTX"."""
    return brand if brand in (None, ABSENT) else brand.replace(" ", "").lower()


def test_no_device_is_missing(daemon, report, instances):
    wanted = {gpu.uuid for gpu in report.gpus.values() if not gpu.in_mig_mode()} | set(instances)
    devices = set(daemon.devices())
    require_none([f"{uuid}: only Cardcage has it" for uuid in sorted(devices - wanted)] +
                 [f"{uuid}: only nvidia-smi has it" for uuid in sorted(wanted - devices)])


def compare_common(found: Differences, device: dict, report, gpu, capabilities: dict[str, str]) -> None:
    """The attributes that a GPU and its MIG instances have in common."""
    attributes, name = device["attributes"], device["name"]
    capability = capabilities.get(gpu.uuid)
    found.equal(f"{name} PCI address", device["pciBusID"], gpu.pci)
    found.equal(f"{name} resource.kubernetes.io/pciBusID", attributes.get("resource.kubernetes.io/pciBusID"), gpu.pci)
    found.equal(f"{name} productName", attributes.get("productName"), gpu.text("product_name"))
    found.equal(f"{name} brand", plain(attributes.get("brand")), plain(gpu.text("product_brand")))
    found.equal(f"{name} architecture", attributes.get("architecture"), gpu.text("product_architecture"))
    found.equal(f"{name} addressingMode", attributes.get("addressingMode"), gpu.text("addressing_mode"))
    found.equal(f"{name} cudaComputeCapability", attributes.get("cudaComputeCapability"), padded(capability))
    found.equal(f"{name} driverVersion", attributes.get("driverVersion"), padded(report.driver))
    found.equal(f"{name} cudaDriverVersion", attributes.get("cudaDriverVersion"), padded(report.cuda))


def test_gpus(machine, daemon, report, instances):
    capabilities, found = compute_capabilities(machine.smi), Differences()
    whole = [(device, gpu) for device, gpu, instance in known(daemon.devices(), report, instances) if not instance]
    if all(gpu.in_mig_mode() for gpu in report.gpus.values()):
        pytest.skip("all GPUs of this machine are in MIG mode")
    for device, gpu in whole:
        attributes, name = device["attributes"], device["name"]
        found.equal(f"{gpu.uuid} name", name, f"gpu-{gpu.minor}")
        found.equal(f"{name} kind", device["kind"], "gpu")
        found.equal(f"{name} type", attributes.get("type"), "gpu")
        found.equal(f"{name} uuid", attributes.get("uuid"), gpu.uuid)
        found.equal(f"{name} memory in MiB", mib(device["capacity"].get("memory")), gpu.number("fb_memory_usage/total"))
        found.equal(f"{name} serial", attributes.get("nvidia.cardcage.dev/serial"), gpu.text("serial"))
        found.equal(f"{name} moduleID", attributes.get("nvidia.cardcage.dev/moduleID"),
                    gpu.number("platformInfo/module_id", "gpu_module_id", "module_id"))
        found.equal(f"{name} clique", attributes.get("nvidia.cardcage.dev/clique"), gpu.clique())
        compare_common(found, device, report, gpu, capabilities)
    found.require_none(at_least=12 * len(whole))


def test_mig_instances(machine, daemon, report, instances):
    capabilities, found = compute_capabilities(machine.smi), Differences()
    parts = [(device, instance) for device, _, instance in known(daemon.devices(), report, instances) if instance]
    if not instances:
        pytest.skip("no MIG instance exists on this machine, and the suite makes none")
    for device, instance in parts:
        attributes, name = device["attributes"], device["name"]
        prefix = f"gpu-{instance.gpu.minor}-mig-{instance.profile.replace('.', '').replace('+', '-')}-"
        found.equal(f"{name} name without profile and placement", name[:len(prefix)], prefix)
        found.equal(f"{name} type", attributes.get("type"), "mig")
        found.equal(f"{name} uuid", attributes.get("uuid"), instance.uuid)
        found.equal(f"{name} parentUUID", attributes.get("parentUUID"), instance.gpu.uuid)
        found.equal(f"{name} profile", attributes.get("profile"), instance.profile)
        found.equal(f"{name} memory in MiB", mib(device["capacity"].get("memory")), instance.number("fb_memory_usage/total"))
        for capacity, element in ENGINES.items():
            count = instance.number(f"device_attributes/shared/{element}_count")
            found.equal(f"{name} {capacity}", int(device["capacity"].get(capacity, -1)), count)
        compare_common(found, device, report, instance.gpu, capabilities)
    found.require_none(at_least=15 * len(parts))
