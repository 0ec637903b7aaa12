"""The machines of the FPGA module, with the kernel's own drivers for cards with a Device Feature List.

The module in fpga_cards/ puts three cards below root ports, and hands the drivers their registers; it registers an FPGA
manager with AMD's file `firmware`. In the plain machine the drivers are as Debian has them: a display with plain memory
plays the card.
"""

from pathlib import Path

import kernel_build
from tier import Tier

CARDS = Path(__file__).parent / "fpga_cards"
KBUILD = {"Kbuild": CARDS / "Kbuild"}
# Memory for the BARs of cards, which memmap= keeps from the kernel.
BARS, BARS_SIZE = 0x30000000, "16M"
CORE = ["fpga-mgr", "fpga-bridge", "fpga-region"]
DRIVERS = ["dfl", "dfl-fme", "dfl-fme-mgr", "dfl-fme-br", "dfl-fme-region", "dfl-afu", "dfl-pci"]
VFIO = ["vfio-pci", "vfio_iommu_type1"]


def build(folder: Path) -> list[Path]:
    sources = {f"cards/{file.name}": file for file in CARDS.glob("*.[ch]")}
    place = kernel_build.build(folder, "fpga", "drivers/fpga", ["CARDS=1"], KBUILD | sources)
    return [place / f"{name}.ko" for name in (*CORE, "fpga-cards", *DRIVERS)]


def build_plain(folder: Path) -> list[Path]:
    place = kernel_build.build(folder, "fpga-plain", "drivers/fpga", [], KBUILD)
    return [place / f"{name}.ko" for name in (*CORE, *DRIVERS)]


TIER = Tier(
    library="libcardcage_fpga.so",
    modules=VFIO,
    build=build,
    parameters={"fpga-cards": f"base={BARS:#x}"},
    programs=[],
    devices=["-device", "pcie-root-port,id=rp0,bus=pcie.0,chassis=1,slot=1,hotplug=off",
             "-device", "pcie-root-port,id=rp1,bus=pcie.0,chassis=2,slot=2,hotplug=off",
             "-device", "pxb-pcie,id=pxb1,bus_nr=0x40,numa_node=1,bus=pcie.0",
             "-device", "pcie-root-port,id=rp2,bus=pxb1,chassis=3,slot=3,hotplug=off"],
    arguments=f"memmap={BARS_SIZE}${BARS:#x} oops=panic firmware_class.path=/tmp/firmware",
)
PLAIN = Tier(
    library="libcardcage_fpga.so",
    modules=VFIO,
    build=build_plain,
    parameters={},
    programs=[],
    devices=["-device", "pcie-root-port,id=rp0,bus=pcie.0,chassis=1,slot=1", "-device", "bochs-display,bus=rp0"],
    arguments="iomem=relaxed oops=panic",
)
