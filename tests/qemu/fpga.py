"""The machine of the FPGA module: the kernel's own drivers for cards with a Device Feature List, whose cards the module
in fpga_cards/ puts below three root ports, and an FPGA manager with AMD's file `firmware`."""

from pathlib import Path

import kernel_build
from tier import Tier

CARDS = Path(__file__).parent / "fpga_cards"
# Memory for the BARs of cards, which the kernel must not use itself.
BARS, BARS_SIZE = 0x30000000, "16M"
ORDER = ["fpga-mgr", "fpga-bridge", "fpga-region", "fpga-cards", "dfl", "dfl-fme", "dfl-fme-mgr", "dfl-fme-br",
         "dfl-fme-region", "dfl-afu", "dfl-pci"]


def build(folder: Path) -> list[Path]:
    sources = {f"cards/{file.name}": file for file in CARDS.glob("*.[ch]")}
    place = kernel_build.build(folder, "fpga", "drivers/fpga", ["CARDS=1"], {"Kbuild": CARDS / "Kbuild"} | sources)
    return [place / f"{name}.ko" for name in ORDER]


TIER = Tier(
    library="libcardcage_fpga.so",
    modules=["vfio-pci", "vfio_iommu_type1"],
    build=build,
    parameters={"fpga-cards": f"base={BARS:#x}"},
    programs=[],
    devices=["-device", "pcie-root-port,id=rp0,bus=pcie.0,chassis=1,slot=1,hotplug=off",
             "-device", "pcie-root-port,id=rp1,bus=pcie.0,chassis=2,slot=2,hotplug=off",
             "-device", "pxb-pcie,id=pxb1,bus_nr=0x40,numa_node=1,bus=pcie.0",
             "-device", "pcie-root-port,id=rp2,bus=pxb1,chassis=3,slot=3,hotplug=off"],
    arguments=f"memmap={BARS_SIZE}${BARS:#x} oops=panic firmware_class.path=/tmp/firmware",
)
