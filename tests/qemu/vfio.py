"""Builds the kernel's vfio with its mode without an IOMMU, which Debian's kernels come without."""

from pathlib import Path

import netdevsim

# The rest of the folder stays Debian's.
SETTINGS = ["KCFLAGS=-DCONFIG_VFIO_NOIOMMU=1", "CONFIG_VFIO_IOMMU_TYPE1=", "CONFIG_VFIO_PCI_CORE=", "CONFIG_VFIO_MDEV="]


def build(folder: Path, release: str) -> Path:
    """Builds from the packages extracted in `folder`; returns the module."""
    return netdevsim.make(folder, release, netdevsim.extract(folder, "drivers/vfio"), "vfio", *SETTINGS)
