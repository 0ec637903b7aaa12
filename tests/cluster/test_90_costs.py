"""What all of the above cost: requests in the API server's audit log, kubelet's metrics, memory. Runs last."""

import collections
import json
import re
from pathlib import Path

import pytest

from mock import DRIVER
from node import NODE
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


def durations(metrics: str, method: str) -> list[tuple[float, int]]:
    """kubelet's histogram of one method of our driver: upper bound in seconds, calls up to it."""
    buckets: dict[float, int] = {}
    for labels, count in re.findall(r"^dra_grpc_operations_duration_seconds_bucket{(.*)} (\d+)$", metrics, re.M):
        named = dict(re.findall(r'(\w+)="(.*?)"', labels))
        if named["driver_name"] == DRIVER and named["method_name"].endswith(method):
            bound = float(named["le"].replace("+Inf", "inf"))
            buckets[bound] = buckets.get(bound, 0) + int(count)
    return sorted(buckets.items())


@pytest.mark.parametrize("method", ["NodePrepareResources", "NodeUnprepareResources"])
def test_kubelet_waits_briefly(cluster, daemon, measured, method):
    status, body = cluster.api.request("GET", f"/api/v1/nodes/{NODE}/proxy/metrics")
    assert status == 200
    buckets = durations(body.decode(), method)
    assert buckets and buckets[-1][1] > 0, "kubelet called no driver of this name"
    total = buckets[-1][1]
    half, most = (next(bound for bound, count in buckets if count >= total * share) for share in (0.5, 0.95))
    measured(f"{method} seen by kubelet: {total} calls, half within {half:g} s, 95 % within {most:g} s")
    assert half <= 0.5


def test_memory_of_the_daemon_is_small(daemon, measured):
    [pid] = daemon.process_ids()
    pss = int(re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1])
    measured(f"the daemon's share of memory (PSS): {pss / 1024:.1f} MiB")
    assert pss < 32 * 1024
