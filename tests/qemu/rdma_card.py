"""Builds rdma_card.c, an RDMA device without hardware."""

import shutil
from pathlib import Path

import netdevsim

SOURCE = Path(__file__).with_name("rdma_card.c")


def build(folder: Path, release: str) -> Path:
    """Builds with the packages extracted in `folder`, as netdevsim.build() does; returns the module."""
    place = folder / "rdma_card"
    place.mkdir()
    shutil.copy(SOURCE, place)
    (place / "Makefile").write_text("obj-m += rdma_card.o\n")
    return netdevsim.make(folder, release, place, "rdma_card")
