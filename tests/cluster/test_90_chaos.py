"""Faults at random while pods with claims and pods with resources come and go: `tools/test chaos`."""

import collections
import datetime
import json
import os
import time

import pytest

from chaos import Chaos
from daemon import CDI, STATE
from mock import DRIVER, template
from resources import FPGA, wait_allocatable
from stream import Stream, complaint
from waiting import until

SECONDS = float(os.environ.get("CARDCAGE_CHAOS_SECONDS", "0"))
SEED = int(os.environ.get("CARDCAGE_CHAOS_SEED", time.time()))
HARDWARE = STATE / "mock"  # the mock's mount_dir: a file per device that is set up for a claim
# The kubelet rejects what it admits while nobody serves the node, which no plugin can prevent.
MAY_REJECT = {"daemon killed", "kubelet killed", "kubelet restarted"}


def losses(stream: Stream, chaos: Chaos) -> list[tuple[str, str]]:
    """The cause and the complaint of each pod that did not succeed."""
    lost = []
    for found in stream.finished(180):
        if text := complaint(found["status"]):
            # A rejected pod starts when it is rejected, perhaps long after its creation: Allocate waits for a module.
            start = found["status"].get("startTime", found["metadata"]["creationTimestamp"])
            moment = datetime.datetime.fromisoformat(start.replace("Z", "+00:00")).timestamp() + 1
            lost.append((chaos.cause(moment), f"{found['metadata']['name']}: {text}"))
    return lost


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
        with Stream(scene, template="one", kind="gpu", every=1) as claims, Stream(scene, FPGA, every=1) as resources:
            chaos.run(SECONDS)
            time.sleep(2)
    finally:
        measured(f"chaos: seed {SEED}, {len(chaos.faults)} faults in {SECONDS:g} s: {counted(fault.name for fault in chaos.faults)}")
    claims_lost, resources_lost = losses(claims, chaos), losses(resources, chaos)
    measured(f"chaos: pods with claims lost: {len(claims_lost)} of {len(claims.names)}: {counted(cause for cause, _ in claims_lost)}")
    measured(f"chaos: pods with resources lost: {len(resources_lost)} of {len(resources.names)}: {counted(cause for cause, _ in resources_lost)}")

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
    assert len(held) == len(set(held)) == len(claims.names), f"history: {len(held)} rows, {len(uids - set(held))} claims without one"
    assert not [lost for lost in resources_lost if lost[0] not in MAY_REJECT or "UnexpectedAdmissionError" not in lost[1]]
