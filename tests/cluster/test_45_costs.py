"""What all of the above cost: requests in the API server's audit log, kubelet's metrics, memory. Runs last."""

import collections
import json
import re
from pathlib import Path

import pytest

from latency import latency
from mock import DRIVER
from programs import LOGS


def requests() -> list[dict]:
    return [json.loads(line) for line in (LOGS / "audit.log").read_text().splitlines()]


def test_no_request_of_the_daemon_was_refused(daemon):
    """Access or policy that is too tight shows here even if a retry or a fallback hid it. Scenes of the manifests ask as
    somebody else (impersonation) on purpose, and are left out."""
    refused = [(event["verb"], event["requestURI"], event["responseStatus"]["code"]) for event in requests()
               if event["responseStatus"]["code"] in (400, 401, 403, 415, 422) and "impersonatedUser" not in event]
    assert not refused


def test_requests_are_few(daemon, measured):
    counts = collections.Counter((event["verb"], event.get("objectRef", {}).get("resource", "discovery")) for event in requests()
                                 if "impersonatedUser" not in event)
    measured("requests of the daemon: " + ", ".join(f"{verb} {what} {n}" for (verb, what), n in sorted(counts.items())))
    assert counts["list", "resourceclaims"] == counts["watch", "resourceclaims"] == 0, "claims are read one by one, when asked for"


@pytest.mark.parametrize("method", ["NodePrepareResources", "NodeUnprepareResources"])
def test_kubelet_waits_briefly(cluster, daemon, measured, method):
    waited = latency(cluster.api, DRIVER, method)
    measured(f"{method} seen by kubelet since its restart: {waited}")
    assert waited.mean < 0.5


def test_memory_of_the_daemon_is_small(daemon, measured):
    [pid] = daemon.process_ids()
    pss = int(re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1])
    measured(f"the daemon's share of memory (PSS): {pss / 1024:.1f} MiB")
    assert pss < 32 * 1024
