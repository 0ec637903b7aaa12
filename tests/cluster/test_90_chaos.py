"""Random faults while pods with claims and pods with resources come and go: `tools/test chaos`."""

import collections
import json
import math
import os
import time

import pytest

from chaos import DAEMON_KILLED, RESTART_GRACE, Chaos
from daemon import CDI, STATE
from losses import Loss, losses
from mock import DRIVER, template
from resources import FPGA, wait_allocatable
from stream import Stream
from waiting import on_this_machine, until

SECONDS = float(os.environ.get("CARDCAGE_CHAOS_SECONDS", "0"))
SEED = int(os.environ.get("CARDCAGE_CHAOS_SEED", time.time()))
HARDWARE = STATE / "mock"  # the mock's mount_dir: a file per device that is set up for a claim


def causes(lost: list[Loss], chaos: Chaos) -> str:
    return counted(outage.fault if (outage := chaos.outage(loss.moment)) else chaos.last_fault(loss.moment) for loss in lost)


def counted(names) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(collections.Counter(names).items())) or "none"


def memory_mib(pids: list[int]) -> float:
    def resident(pid):
        with open(f"/proc/{pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    return sum(resident(pid) for pid in pids) / 1024


@pytest.mark.skipif(SECONDS == 0, reason="takes minutes after the faults until a small machine has run all pods; start it with tools/test chaos")
def test_chaos(cluster, scene, daemon, measured):
    print(f"chaos: seed {SEED}, {SECONDS:g} s")

    def left() -> dict:
        return {"claims": len(json.loads(daemon.cagectl("claims", "--json"))), "CDI files": len(list(CDI.iterdir())),
                "files of the module": len(list(HARDWARE.iterdir())), "extra workers": len(daemon.process_ids("cardcage-worker")) - 1}

    def nothing_left() -> bool:
        seen = left()
        assert not any(seen.values()), seen
        return True

    until(nothing_left, "nothing is left of earlier tests", 30, every=1)
    wait_allocatable(cluster.api, seconds=30)
    before = memory_mib(daemon.process_ids())
    scene.apply(template("one"))
    chaos = Chaos(cluster, daemon, SEED)
    try:
        with chaos:
            with Stream(scene, template="one", kind="gpu", every=1) as claims, Stream(scene, FPGA, every=1) as resources:
                chaos.run(SECONDS)
                time.sleep(RESTART_GRACE + 2)  # each new pod makes the kubelet write the checkpoint of its devices
            claims_lost, resources_lost = losses(scene, claims, 180), losses(scene, resources, 180)
            until(lambda: all(outage.ended < math.inf for outage in chaos.outages), "the kubelet has all devices again", 60)
    finally:
        measured(f"chaos: seed {SEED}, {len(chaos.faults)} faults in {SECONDS:g} s: {counted(fault.name for fault in chaos.faults)}")
    measured(f"chaos: pods with claims lost: {len(claims_lost)} of {len(claims.names)}: {causes(claims_lost, chaos)}")
    measured(f"chaos: pods with resources lost: {len(resources_lost)} of {len(resources.names)}: {causes(resources_lost, chaos)}")
    spans = [outage.ended - outage.begun for outage in chaos.outages]
    of_daemon = [outage.ended - outage.begun for outage in chaos.outages if outage.fault == DAEMON_KILLED and chaos.alone(outage)]
    measured(f"chaos: {len(spans)} times without healthy devices, at most {max(spans, default=0):.1f} s; "
             f"{len(of_daemon)} times because the daemon alone was killed, at most {max(of_daemon, default=0):.1f} s")

    uids = {found["metadata"]["uid"] for found in scene.items("resourceclaims")}
    scene.delete("pods", *claims.names, *resources.names)
    scene.wait_gone("pods", *claims.names, *resources.names, seconds=120)
    until(nothing_left, "nothing is left of the pods", 90, every=1)
    wait_allocatable(cluster.api)
    until(lambda: len(daemon.devices(DRIVER)) == 24, "the slices are complete", 20)

    rows = json.loads(daemon.cagectl("history", "--json", "--limit", "10000"))
    held = [row["claim"]["uid"] for row in rows if row["driver"] == DRIVER and row["claim"]["namespace"] == scene.namespace]
    of_resources = [row for row in rows if row["driver"] == FPGA and row["claim"]["namespace"] == scene.namespace]
    after = memory_mib(daemon.process_ids())
    measured(f"chaos: {len(held)} rows of history for {len(claims.names)} pods with claims, {len(of_resources)} for "
             f"{len(resources.names) - len(resources_lost)} pods with resources that ran; memory {before:.1f} MiB before, {after:.1f} MiB after")
    assert not claims_lost
    assert max(of_daemon, default=0) <= on_this_machine(3)
    assert len(held) == len(set(held)) == len(claims.names), f"history: {len(held)} rows, {len(uids - set(held))} claims without one"
    avoidable = [loss for loss in resources_lost if not loss.rejected_in(chaos)]
    assert not avoidable, [f"{loss.complaint} ({chaos.last_fault(loss.moment)})" for loss in avoidable]
