"""NVIDIA's own libnvidia-ml on a node whose GPU it cannot reach: one clear error, and recovery once it can."""

import json

from daemon import Claim, Daemon
from waiting import until

FAULT = "the NVIDIA driver does not respond"
ERROR = "Driver Not Loaded (NVML code 9); load the kernel module nvidia"


def states(daemon: Daemon) -> list[str]:
    return [device["health"]["state"] for device in daemon.devices().values()]


def test_one_error_and_recovery(node_without_gpu):
    node = node_without_gpu
    daemon = Daemon(node)
    try:
        until(lambda: FAULT in daemon.log(), "the module has looked", 60)
        for _ in range(3):
            daemon.cagectl("module", "quiesce", "nvidia")
            daemon.cagectl("module", "resume", "nvidia")  # checks the driver again
        [line] = [line for line in daemon.log().splitlines() if FAULT in line]
        assert f"initialising the NVML library '{node.nvml}': {ERROR}" in line
        [module] = json.loads(daemon.cagectl("--json", "modules"))
        assert module["state"]["state"] == "ready" and states(daemon) == []
        node.use_fake_nvml()
        until(lambda: states(daemon) == ["healthy"], "the GPU is healthy", 60)
        assert daemon.log().count("the NVIDIA driver responds again") == 1
        with Claim(daemon, "gpu-0") as claim:
            claim.prepare()
    finally:
        daemon.stop()
