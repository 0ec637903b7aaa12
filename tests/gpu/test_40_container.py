"""A container that has only its claim sees exactly the device of the claim."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from compare import known, require_none
from container import Bundle, libraries, runtime
from daemon import Claim


@pytest.fixture
def bundle_of(tmp_path, machine):
    """Makes the container of a claim, or skips the test where none can start."""
    if not runtime():
        pytest.skip("neither runc nor crun is installed")
    if os.geteuid() != 0:
        pytest.skip("starting a container needs root")

    def make(claim: Claim) -> Bundle:
        bundle = Bundle(tmp_path / claim.uid, machine, claim.prepare())
        if obstacle := bundle.obstacle():
            pytest.skip(f"{runtime()} starts no container on this machine: {obstacle}")
        return bundle

    return make


def test_container_sees_its_device_alone(bundle_of, daemon, devices, report, instances):
    problems = []
    for device, gpu, instance in known(devices, report, instances):
        wanted = {gpu.uuid, instance.uuid} if instance else {gpu.uuid}
        with Claim(daemon, device["name"]) as claim:
            listed = bundle_of(claim).run("/usr/bin/nvidia-smi", "-L")
        seen = set(re.findall(r"UUID: ([\w/-]+)", listed))
        if seen != wanted:
            problems.append(f"{device['name']} UUIDs: nvidia-smi in the container lists {sorted(seen)}, expected {sorted(wanted)}:\n{listed}")
    require_none(problems)


def test_cuda_starts_in_a_container(tmp_path, bundle_of, machine, daemon, devices, report, instances):
    if not machine.runs_cuda:
        pytest.skip("the fake GPUs run no CUDA")
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler for the program that starts CUDA")
    program = tmp_path / "cuda_start"
    subprocess.run(["cc", "-O2", "-w", "-o", program, Path(__file__).parent / "cuda_start.c", "-ldl"], check=True)
    problems = []
    for device, gpu, instance in known(devices, report, instances):
        wanted = (instance or gpu).uuid.removeprefix("GPU-").removeprefix("MIG-")
        with Claim(daemon, device["name"]) as claim:
            bundle = bundle_of(claim)
            for library in libraries(str(program)):
                bundle.add(library, library)
            bundle.add(program, "/usr/bin/cuda_start")
            printed = bundle.run("/usr/bin/cuda_start")
        if printed.split() != [wanted, "ok"]:
            problems.append(f"{device['name']}: CUDA in the container prints {printed!r}, expected '{wanted} ok'")
    require_none(problems)
