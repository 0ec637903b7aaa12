"""Compares field by field, so that a failure names every field that differs, with both values."""

import pytest

from smi import ABSENT, Gpu, Instance, Report


def require_none(problems: list[str]) -> None:
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


def known(devices: dict[str, dict], report: Report, instances: dict[str, Instance]) -> list[tuple[dict, Gpu, Instance | None]]:
    """Each device that nvidia-smi lists, too, with its GPU and MIG instance. The first test covers the others."""
    return [(device, instances[uuid].gpu if uuid in instances else report.gpus[uuid], instances.get(uuid))
            for uuid, device in devices.items() if uuid in instances or uuid in report.gpus]


class Differences:
    def __init__(self):
        self.found: list[str] = []
        self.compared = 0

    def equal(self, field: str, cardcage, nvidia_smi) -> None:
        """A field that this driver's nvidia-smi does not have (None) is not compared. One that the GPU lacks must be absent."""
        if nvidia_smi is None:
            return
        self.compared += 1
        if cardcage != (None if nvidia_smi == ABSENT else nvidia_smi):
            self.found.append(f"{field}: Cardcage has {cardcage!r}, nvidia-smi has {nvidia_smi!r}")

    def within(self, field: str, cardcage: float | None, readings: list, tolerance: float) -> None:
        """Whether a figure lies between two readings of nvidia-smi, with a tolerance."""
        if None in readings:
            return
        self.compared += 1
        absent = ABSENT in readings
        if absent != (cardcage is None) or not absent and not min(readings) - tolerance <= cardcage <= max(readings) + tolerance:
            self.found.append(f"{field}: Cardcage has {cardcage!r}, nvidia-smi has {readings!r}, tolerance {tolerance:g}")

    def require_none(self, at_least: int) -> None:
        """A comparison of fewer fields than any driver has proves nothing."""
        few = f"only {self.compared} fields could be compared, expected at least {at_least}"
        require_none(self.found + [few] * (self.compared < at_least))
