"""The costs of the tests above: requests in the API server's audit log, the kubelet's metrics, memory."""

import collections
import re
from pathlib import Path

import pytest

from audit import requests
from latency import latency
from mock import DRIVER


def what(event: dict) -> tuple:
    """The grant of a rule: a verb on a resource."""
    return event["verb"], *(event.get("objectRef", {}).get(key) for key in ("apiGroup", "resource", "subresource", "namespace"))


def decision(event: dict) -> str | None:
    return event.get("annotations", {}).get("authorization.k8s.io/decision")


def test_no_request_of_the_daemon_was_refused(daemon):
    """Finds access rules that are too strict, even if a retry or a fallback hid the refusal. Requests by impersonation are
    left out: test_10_access.py provokes refusals on purpose.

    A server that has just started does not know all roles and bindings yet, and forbids what it allows a moment later. It
    refuses list attributes while test_22_dra_features.py has turned off their feature gate. The right to read pods is optional."""
    own = [event for event in requests() if "impersonatedUser" not in event]
    allowed = {what(event) for event in own if decision(event) == "allow"}
    refused = [event for event in own if event["responseStatus"]["code"] in (400, 401, 403, 415, 422)
               and not (decision(event) == "forbid" and what(event) in allowed)
               and "numaNode]: Invalid value" not in event["responseStatus"].get("message", "")
               and what(event)[:3] != ("get", None, "pods")]
    assert allowed
    assert not [(event["verb"], event["requestURI"], event["responseStatus"]) for event in refused]


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


def pss_kib(pid: int) -> int:
    return int(re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1])


def test_memory_of_the_daemon_is_small(daemon, measured):
    [parent], [pid] = daemon.parent_ids(), daemon.process_ids()
    of_parent, pss = pss_kib(parent), pss_kib(pid)
    measured(f"memory of the daemon (PSS): {pss / 1024:.1f} MiB, and {of_parent / 1024:.2f} MiB of its parent")
    assert pss < 32 * 1024 and of_parent < 2560
