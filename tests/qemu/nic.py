"""The machine of the NIC module: two Intel 82576 cards (igb), each below a PCIe root complex of its own; a third card
without an IOMMU; the kernel's simulated cards (netdevsim), which have devlink and 64 virtual functions; an RDMA device
without hardware (rdma_card/); and Debian's udev."""

from pathlib import Path

import kernel_build
from tier import Tier


RDMA_CARD = Path(__file__).parent / "rdma_card"
# Debian's vfio lacks the mode without an IOMMU. The other modules of the folder stay Debian's.
VFIO = ["KCFLAGS=-DCONFIG_VFIO_NOIOMMU=1", "CONFIG_VFIO_IOMMU_TYPE1=", "CONFIG_VFIO_PCI_CORE=", "CONFIG_VFIO_MDEV="]
# Makes root ports tell their slot numbers, by which udev names interfaces. ACPI would call each slot 0.
SLOTS = ["-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"]


def build(folder: Path) -> list[Path]:
    simulated = kernel_build.build(folder, "netdevsim", "drivers/net/netdevsim", ["CONFIG_NETDEVSIM=m"], {})
    rdma = kernel_build.build(folder, "rdma_card", None, [], {file.name: file for file in RDMA_CARD.iterdir()})
    vfio = kernel_build.build(folder, "vfio", "drivers/vfio", VFIO, {})
    return [simulated / "netdevsim.ko", rdma / "rdma_card.ko", vfio / "vfio.ko"]


TIER = Tier(
    library="libcardcage_nic.so",
    modules=["igb", "igbvf", "vfio-pci", "vfio_iommu_type1", "veth", "dummy", "macvlan", "8021q", "bridge", "bonding",
             "vrf", "crc32c_generic", "openvswitch", "psample", "aer_inject", "crc32_generic", "rdma_rxe", "ib_uverbs",
             "ib_umad", "rdma_ucm"],
    build=build,
    parameters={},
    programs=["/usr/bin/nsenter", "/sbin/ip", "/sbin/devlink", "/usr/bin/rdma"],
    devices=[*SLOTS, "-netdev", "hubport,id=n0,hubid=0", "-netdev", "hubport,id=n1,hubid=0",
             "-device", "pcie-root-port,id=rp0,bus=pcie.0,chassis=1,slot=1", "-device", "igb,bus=rp0,netdev=n0,id=igb0",
             "-device", "pxb-pcie,id=pxb1,bus_nr=0x40,numa_node=1,bus=pcie.0",
             "-device", "pcie-root-port,id=rp1,bus=pxb1,chassis=2,slot=2", "-device", "igb,bus=rp1,netdev=n1,id=igb1",
             # A card without an IOMMU, and without a driver.
             "-device", "pxb-pcie,id=pxb2,bus_nr=0x60,bus=pcie.0,bypass_iommu=on",
             "-device", "pcie-root-port,id=rp2,bus=pxb2,chassis=3,slot=3", "-device", "e1000e,bus=rp2,romfile="],
    arguments="pci=realloc",
    udev=True,
)
