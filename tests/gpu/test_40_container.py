"""A container that has only its claim sees exactly the device of the claim."""

import os
import re

import pytest

from compare import known, require_none
from container import Bundle, runtime
from daemon import Claim


def test_container_sees_its_device_alone(tmp_path, machine, daemon, devices, report, instances):
    if not runtime():
        pytest.skip("neither runc nor crun is installed")
    if os.geteuid() != 0:
        pytest.skip("starting a container needs root")
    problems = []
    for number, (device, gpu, instance) in enumerate(known(devices, report, instances)):
        wanted = {gpu.uuid, instance.uuid} if instance else {gpu.uuid}
        with Claim(daemon, device["name"]) as claim:
            bundle = Bundle(tmp_path / str(number), machine, claim.prepare())
            if obstacle := bundle.obstacle():
                pytest.skip(f"{runtime()} starts no container on this machine: {obstacle}")
            listed = bundle.run("/usr/bin/nvidia-smi", "-L")
        seen = set(re.findall(r"UUID: ([\w/-]+)", listed))
        if seen != wanted:
            problems.append(f"{device['name']} UUIDs: nvidia-smi in the container lists {sorted(seen)}, expected {sorted(wanted)}:\n{listed}")
    require_none(problems)
