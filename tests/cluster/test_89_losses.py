"""How the chaos test judges a pod that did not succeed; without a cluster."""

import time
from unittest.mock import Mock

from chaos import RESTART_GRACE, Chaos, Outage
from losses import REJECTED, loss_of, seconds

OUTAGE = "2026-11-20T10:00:05Z"


def chaos() -> Chaos:
    found = Chaos(Mock(), Mock(), seed=1)
    found.outages.append(Outage("daemon killed", seconds(OUTAGE), seconds(OUTAGE) + 0.5, seconds(OUTAGE) + 2))
    return found


def pod(started: str, **status) -> dict:
    return {"metadata": {"name": "one", "creationTimestamp": started}, "status": {"startTime": started, **status}}


def event(at: str) -> dict:
    return {"reason": REJECTED, "message": "Allocate failed", "lastTimestamp": at}


def test_a_pod_that_succeeded_is_no_loss():
    assert loss_of(pod(OUTAGE, phase="Succeeded"), []) is None


def test_a_rejection_counts_at_the_time_of_its_event():
    rejected = pod("2026-11-20T10:00:00Z", phase="Failed", reason=REJECTED, message="Allocate failed")
    assert loss_of(rejected, [event(OUTAGE)]).rejected_in(chaos())
    assert not loss_of(rejected, []).rejected_in(chaos()), "there was no outage when it started"


def test_a_rejection_whose_reason_a_later_kubelet_erased_has_that_of_its_event():
    erased = loss_of(pod("2026-11-20T10:00:00Z", phase="Failed"), [event(OUTAGE)])
    assert erased.rejected_in(chaos())
    assert erased.complaint == f"one: {REJECTED}: Allocate failed"


def test_without_an_event_the_time_decides():
    assert loss_of(pod(OUTAGE, phase="Failed"), []).rejected_in(chaos())
    assert not loss_of(pod("2026-11-20T10:00:30Z", phase="Failed"), []).rejected_in(chaos())


def test_another_reason_is_no_rejection():
    assert not loss_of(pod(OUTAGE, phase="Failed", reason="Evicted", message="memory"), []).rejected_in(chaos())
    ended = pod(OUTAGE, phase="Succeeded", containerStatuses=[{"lastState": {"terminated": {"reason": "Error", "message": "exit 1"}}}])
    assert not loss_of(ended, []).rejected_in(chaos())


def test_only_a_worker_that_is_killed_again_and_again_is_an_outage_and_only_after_the_grace():
    found = Chaos(Mock(), Mock(process_ids=lambda program="": []), seed=1)
    kill_worker, kill_daemon = found.choices["worker killed"], found.choices["daemon killed"]
    assert kill_worker() is None and not found.outages, "its first restart is 1 s away"
    begun = time.time()
    kill_worker()
    [outage] = found.outages
    assert outage.begun >= begun + RESTART_GRACE
    kill_daemon()
    kill_worker()
    assert len(found.outages) == 1, "a new daemon starts counting again"
