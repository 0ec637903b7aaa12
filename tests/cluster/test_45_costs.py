"""The costs of the tests above: requests in the API server's audit log, the kubelet's metrics, memory."""

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


def is_expected(message: str) -> bool:
    """Whether the server has just started and knows no role yet, or refuses lists because test_22_dra_features.py has turned
    their feature gate off."""
    return "rbac: RBAC: [" in message or "numaNode]: Invalid value" in message


def test_no_request_of_the_daemon_was_refused(daemon):
    """Finds access rules that are too tight, even if a retry or a fallback hid the refusal. Requests by impersonation are
    left out: test_10_manifests.py provokes refusals on purpose."""
    refused = [(event["verb"], event["requestURI"], event["responseStatus"]) for event in requests()
               if event["responseStatus"]["code"] in (400, 401, 403, 415, 422) and "impersonatedUser" not in event]
    assert not [request for request in refused if not is_expected(request[2].get("message", ""))]


def test_requests_are_few(daemon, measured):
    counts = collections.Counter((event["verb"], event.get("objectRef", {}).get("resource", "discovery")) for event in requests()
                                 if "impersonatedUser" not in event)
    measured("requests of the daemon: " + ", ".join(f"{verb} {what} {n}" for (verb, what), n in sorted(counts.items())))
    assert counts["list", "resourceclaims"] == counts["watch", "resourceclaims"] == 0, "the daemon reads claims one by one, when the kubelet names them"


@pytest.mark.parametrize("method", ["NodePrepareResources", "NodeUnprepareResources"])
def test_kubelet_waits_briefly(cluster, daemon, measured, method):
    waited = latency(cluster.api, DRIVER, method)
    measured(f"{method} as the kubelet measures it since its restart: {waited}")
    assert waited.mean < 0.5


def test_memory_of_the_daemon_is_small(daemon, measured):
    [pid] = daemon.process_ids()
    pss = int(re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1])
    measured(f"memory of the daemon (PSS): {pss / 1024:.1f} MiB")
    assert pss < 32 * 1024
