"""The time that the kubelet waited for a driver, from its own metrics, which start at zero with the kubelet."""

import re
from dataclasses import dataclass

from api import Api
from node import NODE


@dataclass
class Latency:
    calls: int
    mean: float
    within: dict[float, int]  # upper bound in seconds -> calls up to it

    def most(self) -> float:
        """The bound within which 95 % of the calls returned."""
        return next(bound for bound, calls in sorted(self.within.items()) if calls >= self.calls * 0.95)

    def __str__(self) -> str:
        return f"{self.mean * 1000:.1f} ms on average, 95 % within {self.most():g} s, {self.calls} calls"


def latency(api: Api, driver: str, method: str) -> Latency:
    status, body = api.request("GET", f"/api/v1/nodes/{NODE}/proxy/metrics")
    assert status == 200, body
    found = Latency(0, 0, {})
    for suffix, labels, value in re.findall(r"^dra_grpc_operations_duration_seconds_(\w+){(.*)} (\S+)$", body.decode(), re.M):
        label = dict(re.findall(r'(\w+)="(.*?)"', labels))
        if label["driver_name"] != driver or not label["method_name"].endswith("/" + method):
            continue
        if suffix == "bucket":
            bound = float(label["le"].replace("+Inf", "inf"))
            found.within[bound] = found.within.get(bound, 0) + int(value)
        elif suffix == "sum":
            found.mean += float(value)
        else:
            found.calls += int(value)
    assert found.calls > 0, f"the kubelet has never called {method} of {driver}"
    found.mean /= found.calls
    return found
