"""systemd-udevd of Debian 12 in the emulated machine, with Debian's rules and policy for the names of interfaces."""

from pathlib import Path

PACKAGE = "udev/bookworm"
START = "/lib/systemd/systemd-udevd --daemon --resolve-names=never"
SETTLE = "udevadm settle"


def add(archive, root: Path) -> None:
    """Adds the files of the package, which is extracted in `root`."""
    archive.program(root / "bin/udevadm", "bin/udevadm")
    archive.link("lib/systemd/systemd-udevd", "/bin/udevadm")
    for pattern in ("lib/udev/rules.d/*", "lib/systemd/network/*.link"):
        for file in root.glob(pattern):
            archive.file(str(file.relative_to(root)), file.read_bytes(), 0o644)
    # udev derives generated addresses from the machine id.
    archive.file("etc/machine-id", b"0123456789abcdef0123456789abcdef\n", 0o644)
