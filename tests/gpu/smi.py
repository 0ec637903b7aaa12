"""The reports of nvidia-smi. Names of elements differ between driver branches; those of 470 to 580 are known."""

import re
import subprocess
import xml.etree.ElementTree as xml
from dataclasses import dataclass

ABSENT = "N/A"  # nvidia-smi knows the field, but the GPU or the driver does not report it
NO_ACTION = "None"


def run(program: str, *arguments: str, check: bool = True) -> str:
    done = subprocess.run([program, *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    assert done.returncode == 0 or not check, f"{program} {' '.join(arguments)} exits with {done.returncode}: {done.stdout}"
    return done.stdout if done.returncode == 0 else ""


class Gpu:
    """A <gpu> element."""

    def __init__(self, element: xml.Element):
        self.element = element
        self.uuid = self.text("uuid")
        self.minor = int(self.text("minor_number"))
        self.pci = self.text("pci/pci_bus_id").lower()[-len("0000:3b:00.0"):]

    def text(self, *paths: str) -> str | None:
        """The text of the first element that exists, ABSENT if the GPU does not report it, None if this driver has no such element."""
        for path in paths:
            found = self.element.find(path)
            if found is not None:
                text = (found.text or "").strip()
                return ABSENT if text in ("[N/A]", "[Not Supported]", "Not Supported", "Not Found") or "deprecated" in text else text
            if self.element.findtext(path.split("/")[0], "").strip() == ABSENT:  # <remapped_rows>N/A</remapped_rows>
                return ABSENT
        return None

    def number(self, *paths: str) -> float | str | None:
        """The number without its unit; ABSENT and None as text()."""
        text = self.text(*paths)
        if text in (None, ABSENT):
            return text
        if text in ("Yes", "No"):
            return int(text == "Yes")
        return float(re.match(r"-?[\d.]+", text)[0])

    def total(self, *paths: str) -> float | str | None:
        """The sum of those elements that exist and are numbers."""
        known = [self.number(path) for path in paths]
        numbers = [number for number in known if isinstance(number, float)]
        return sum(numbers) if numbers else ABSENT if ABSENT in known else None

    def ecc(self, counter: str, corrected: bool) -> float | str | None:
        """Memory errors, "volatile" since the last reset or "aggregate"; before Turing by bits, else by memory."""
        where = f"ecc_errors/{counter}"
        if self.element.find(f"{where}/single_bit") is not None:
            return self.number(f"{where}/{'single' if corrected else 'double'}_bit/total")
        kinds = ("correctable",) if corrected else ("uncorrectable", "uncorrectable_parity", "uncorrectable_secded")
        return self.total(*(f"{where}/{memory}_{kind}" for memory in ("sram", "dram") for kind in kinds))

    def in_mig_mode(self) -> bool:
        return self.text("mig_mode/current_mig") == "Enabled"

    def power(self) -> float | str | None:
        readings = ("gpu_power_readings", "power_readings")
        return self.number(*(f"{each}/{draw}_draw" for each in readings for draw in ("average_power", "power", "instant_power")))

    def is_idle(self) -> bool:
        return any(self.text(f"clocks_{word}_reasons/clocks_{word}_reason_gpu_idle",
                             f"clocks_{word}_reasons/clocks_{word}_reasons_gpu_idle") == "Active" for word in ("event", "throttle"))

    def clique(self) -> str | None:
        """Cluster and clique of a complete NVLink fabric, ABSENT without one."""
        clique, cluster = self.text("fabric/cliqueId"), self.text("fabric/clusterUuid")
        if None in (clique, cluster):
            return None
        complete = self.text("fabric/state") == "Completed" and self.text("fabric/status") == "Success"
        return f"{cluster.lower()}.{clique}" if complete and cluster.strip("0-") else ABSENT

    def faults(self) -> dict[str, bool]:
        """The causes that nvidia-smi sees (docs/nvidia.md, "Health"), and whether they keep the GPU from working."""
        action = self.text("gpu_recovery_action")
        seen = {}
        if action not in (None, ABSENT, NO_ACTION):
            seen["RecoveryAction"] = not any(word in action for word in ("P2P", "IMEX"))
        if (self.ecc("volatile", corrected=False) or 0) not in (0, ABSENT):
            seen["Ecc"] = True
        if self.number("remapped_rows/remapped_row_failure") == 1:
            seen["RowRemap"] = True
        elif self.number("remapped_rows/remapped_row_pending") == 1:
            seen["RowRemap"] = False
        if self.number("retired_pages/pending_retirement", "retired_pages/pending_blacklist") == 1:
            seen["RetiredPages"] = False
        return seen


@dataclass
class Instance:
    """A MIG instance whose compute instance takes all of it: others are not devices."""

    uuid: str
    profile: str
    gpu: Gpu
    element: xml.Element

    def number(self, path: str) -> int:
        return int(self.element.findtext(path).split()[0])


class Report:
    """One run of nvidia-smi -q -x."""

    def __init__(self, program: str):
        log = xml.fromstring(run(program, "-q", "-x"))
        self.driver = log.findtext("driver_version")
        self.cuda = log.findtext("cuda_version")
        self.gpus = {gpu.uuid: gpu for gpu in map(Gpu, log.findall("gpu"))}


def instances(program: str, report: Report) -> dict[str, Instance]:
    """The instances by UUID. Only -L has UUIDs and profiles; both list the instances of a GPU by the same index."""
    found, gpu = {}, None
    for line in run(program, "-L").splitlines():
        if whole := re.match(r"GPU \d+: .*\(UUID: (GPU-[\w-]+)\)", line):
            gpu = report.gpus[whole[1]]
        elif part := re.match(r"\s+MIG (\S+)\s+Device\s+(\d+): \(UUID: (MIG-[\w/-]+)\)", line):
            [element] = [each for each in gpu.element.findall("mig_devices/mig_device") if each.findtext("index") == part[2]]
            if not re.match(r"\d+c\.", part[1]):
                found[part[3]] = Instance(part[3], part[1], gpu, element)
    return found


def compute_capabilities(program: str) -> dict[str, str]:
    """The values by UUID; None before driver 510, whose nvidia-smi does not know the column."""
    table = run(program, "--query-gpu=uuid,compute_cap", "--format=csv,noheader", check=False)
    return dict(re.split(r",\s*", line.strip()) for line in table.splitlines())
