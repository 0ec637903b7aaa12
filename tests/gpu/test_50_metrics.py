"""The figures of dcgm-exporter on the metrics page, compared with nvidia-smi right before and after.

A figure may differ from both readings by its tolerance. Loads change at any time, so one agreement of several attempts
is enough: a wrong unit, GPU or field never agrees.
"""

import re
import time

import pytest

import smi
from compare import Differences

ATTEMPTS = 5
DEGREES, MIB, PERCENT, MHZ = 5, 64, 20, 15
WATTS, WATTS_SHARE = 15, 0.25
SAMPLE = re.compile(r"(DCGM_FI_DEV_\w+)\{(.*)\} (\S+)")
# Figure, elements of nvidia-smi, tolerance.
GAUGES = [
    ("GPU_TEMP", ("temperature/gpu_temp",), DEGREES),
    ("MEMORY_TEMP", ("temperature/memory_temp",), DEGREES),
    ("FB_USED", ("fb_memory_usage/used",), MIB),
    ("FB_FREE", ("fb_memory_usage/free",), MIB),
    ("FB_RESERVED", ("fb_memory_usage/reserved",), MIB),
    ("GPU_UTIL", ("utilization/gpu_util",), PERCENT),
    ("MEM_COPY_UTIL", ("utilization/memory_util",), PERCENT),
    ("ENC_UTIL", ("utilization/encoder_util",), PERCENT),
    ("DEC_UTIL", ("utilization/decoder_util",), PERCENT),
]
COUNTERS = [
    ("PCIE_REPLAY_COUNTER", ("pci/replay_counter",)),
    ("CORRECTABLE_REMAPPED_ROWS", ("remapped_rows/remapped_row_corr",)),
    ("UNCORRECTABLE_REMAPPED_ROWS", ("remapped_rows/remapped_row_unc",)),
    ("ROW_REMAP_FAILURE", ("remapped_rows/remapped_row_failure",)),
    ("RETIRED_SBE", ("retired_pages/multiple_single_bit_retirement/retired_count",)),
    ("RETIRED_DBE", ("retired_pages/double_bit_retirement/retired_count",)),
    ("RETIRED_PENDING", ("retired_pages/pending_retirement", "retired_pages/pending_blacklist")),
]
ECC = [("ECC_SBE_VOL_TOTAL", "volatile", True), ("ECC_DBE_VOL_TOTAL", "volatile", False),
       ("ECC_SBE_AGG_TOTAL", "aggregate", True), ("ECC_DBE_AGG_TOTAL", "aggregate", False)]


def samples(page: str) -> list[tuple[str, float, dict[str, str]]]:
    """The name, value and labels of each sample."""
    return [(name.removeprefix("DCGM_FI_DEV_"), float(value), dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', text)))
            for name, text, value in SAMPLE.findall(page)]


def rows(page: str) -> dict[str, dict[str, tuple[float, dict[str, str]]]]:
    """The value and the labels of whole GPUs, by UUID and name."""
    found = {}
    for name, value, labels in samples(page):
        if "GPU_I_ID" not in labels:
            found.setdefault(labels["UUID"], {})[name] = value, labels
    return found


def compare(found: Differences, uuid: str, row: dict, before: smi.Gpu, after: smi.Gpu) -> None:
    def within(figure: str, readings: list, tolerance: float = 0) -> None:
        found.within(f"{uuid} DCGM_FI_DEV_{figure}", row.get(figure, (None,))[0], readings, tolerance)

    for figure, elements, tolerance in GAUGES:
        within(figure, [gpu.number(*elements) for gpu in (before, after)], tolerance)
    power = [gpu.power() for gpu in (before, after)]
    within("POWER_USAGE", power, max([WATTS, *(WATTS_SHARE * each for each in power if isinstance(each, float))]))
    for figure, element in (("SM_CLOCK", "clocks/sm_clock"), ("MEM_CLOCK", "clocks/mem_clock")):
        if before.is_idle() == after.is_idle():  # otherwise it is changing right now
            within(figure, [gpu.number(element) for gpu in (before, after)], MHZ)
    for figure, elements in COUNTERS:
        within(figure, [gpu.number(*elements) for gpu in (before, after)])
    for figure, counter, corrected in ECC:
        within(figure, [gpu.ecc(counter, corrected) for gpu in (before, after)])


def test_figures(machine, daemon):
    for attempt in range(1, ATTEMPTS + 1):
        before, page, after = smi.Report(machine.smi), rows(daemon.metrics()), smi.Report(machine.smi)
        found = Differences()
        for uuid, gpu in before.gpus.items():
            compare(found, uuid, page.get(uuid, {}), gpu, after.gpus[uuid])
        if not found.found or attempt == ATTEMPTS:
            break
        time.sleep(1)
    found.require_none(at_least=10 * len(before.gpus))


def test_labels(daemon, report):
    page, found = rows(daemon.metrics()), Differences()
    found.equal("UUIDs on the metrics page", sorted(page), sorted(report.gpus))
    for index, (uuid, gpu) in enumerate(report.gpus.items()):  # nvidia-smi lists the GPUs in the order of NVML
        wanted = {"gpu": str(index), "modelName": gpu.text("product_name"), "pci_bus_id": gpu.text("pci/pci_bus_id"),
                  "DCGM_FI_DRIVER_VERSION": report.driver, "device": None if gpu.in_mig_mode() else f"gpu-{gpu.minor}"}
        for label, value in wanted.items():
            found.equal(f"{uuid} label {label}", {labels.get(label) for _, labels in page.get(uuid, {}).values()}, {value})
    found.require_none(at_least=1 + 5 * len(report.gpus))


def test_mig_instances_have_rows(daemon, report, instances):
    """Memory of each instance, which the driver's numbers identify."""
    if not instances:
        pytest.skip("no MIG instance exists on this machine, and the suite makes none")
    listed = {(each.gpu.uuid, str(each.number("gpu_instance_id")), each.profile) for each in instances.values()}
    for figure in ("FB_USED", "FB_FREE"):
        shown = {(labels["UUID"], labels["GPU_I_ID"], labels["GPU_I_PROFILE"])
                 for name, _, labels in samples(daemon.metrics()) if name == figure and "GPU_I_ID" in labels}
        assert shown == listed, f"DCGM_FI_DEV_{figure}: only Cardcage has {shown - listed}, only nvidia-smi has {listed - shown}"
