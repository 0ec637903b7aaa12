"""The edits of a claim for each device, compared with the files of this machine."""

import re
from pathlib import Path

import pytest

from compare import known, require_none
from container import edits
from daemon import Claim

SONAMES = ("libcuda.so.1", "libnvidia-ml.so.1")
CONTROL = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"}
VERSION = re.compile(r"\d{3}\.\d[\d.]*\d")  # "580.65.06", in the name of a file or of a folder


@pytest.fixture(scope="module")
def prepared(daemon) -> dict[str, dict]:
    """The edits of a claim for each device, by id. No claim stays prepared."""
    found = {}
    for device in daemon.devices().values():
        with Claim(daemon, device["name"]) as claim:
            found[device["id"]] = edits(claim.prepare())
    return found or pytest.skip("Cardcage has no devices on this machine")


def test_prepare_twice_and_unprepare(daemon, devices):
    problems = []
    for device in devices.values():
        with Claim(daemon, device["name"]) as claim:
            file = claim.prepare()
            first = file.read_text()
            if (again := claim.prepare().read_text()) != first:
                problems.append(f"{device['name']} {file.name}: first it has\n{first}\nafter a repeated prepare\n{again}")
            claim.unprepare()
            problems += [f"{device['name']} {left.name}: unprepare leaves it" for left in claim.cdi_files()]
    problems += [f"{device['name']} claims: Cardcage has {device['claims']}, expected none"
                 for device in daemon.devices().values() if device["claims"]]
    require_none(problems)


def test_no_other_runtime_adds_gpus(prepared):
    """The variables that NVIDIA's container runtime reads."""
    require_none([f"{identity} env: the CDI file has {edit['env']}, expected NVIDIA_VISIBLE_DEVICES=void"
                  for identity, edit in prepared.items() if edit["env"] != ["NVIDIA_VISIBLE_DEVICES=void"]])


def test_device_nodes_are_those_of_the_kernel(machine, prepared):
    problems = []
    for identity, edit in prepared.items():
        for node in edit["deviceNodes"]:
            try:
                kernel = machine.node(node["path"])
            except FileNotFoundError:
                problems.append(f"{identity} {node['path']}: there is no such node on this machine")
                continue
            found = {key: node.get(key) for key in kernel}
            if found != kernel:
                problems.append(f"{identity} {node['path']}: the CDI file has {found}, this machine has {kernel}")
            if node.get("permissions") != "rw":
                problems.append(f"{identity} {node['path']}: the CDI file has the permissions {node.get('permissions')!r}, expected 'rw'")
    require_none(problems)


def test_device_nodes_are_those_of_the_device(machine, devices, report, instances, prepared):
    """The control nodes and those of the GPU and of the MIG instance; no other GPU's."""
    problems = []
    for device, gpu, instance in known(devices, report, instances):
        wanted = CONTROL | {f"/dev/nvidia{gpu.minor}"}
        if instance:
            numbers = instance.number("gpu_instance_id"), instance.number("compute_instance_id")
            wanted |= {machine.capability(gpu.minor, numbers[0]), machine.capability(gpu.minor, *numbers)}
        paths = [node["path"] for node in prepared[device["id"]]["deviceNodes"]]
        if sorted(set(paths) - {"/dev/nvidia-modeset"}) != sorted(wanted) or len(set(paths)) != len(paths):
            problems.append(f"{device['id']} device nodes: the CDI file has {sorted(paths)}, expected {sorted(wanted)}")
    require_none(problems)


def test_mounts_are_files_of_the_loaded_driver(machine, prepared):
    loaded, problems = machine.driver_version(), []
    for identity, edit in prepared.items():
        for mount in edit["mounts"]:
            source = Path(mount["hostPath"])
            if not source.exists():
                problems.append(f"{identity} {mount['containerPath']}: there is no {source}")
            for version in VERSION.findall(f"{source.parent.name}/{source.name}"):
                if version != loaded:
                    problems.append(f"{identity} {mount['containerPath']}: {source} is of {version}, the loaded driver is {loaded}")
    require_none(problems)


def test_libraries_have_the_names_that_programs_load(machine, prepared):
    loaded, problems = machine.driver_version(), []
    for identity, edit in prepared.items():
        targets = [mount["containerPath"] for mount in edit["mounts"]]
        problems += [f"{identity} {target}: two mounts have this target" for target in {each for each in targets if targets.count(each) > 1}]
        for soname in SONAMES:
            sources = {Path(mount["hostPath"]).name for mount in edit["mounts"] if Path(mount["containerPath"]).name == soname}
            if sources != {f"{soname.removesuffix('1')}{loaded}"}:
                problems.append(f"{identity} {soname}: mounted from {sorted(sources)}, the loaded driver is {loaded}")
    require_none(problems)
