#!/usr/bin/env python3
"""Runs a test program in an emulated machine with cards: machine.py nic|fpga|fpga_plain PROGRAM [FILTER].

QEMU 10 and Linux 6.12 come from Debian's backports into a cache (CARDCAGE_CACHE) and are not installed. The machine has two NUMA nodes, an
IOMMU and the cards of nic.py or fpga.py; it is emulated in software, so it needs no privilege but that of apt. Its root file system is made
of files of this one. Without the packages it prints SKIPPED and succeeds.
"""

import hashlib
import lzma
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import fpga
import kernel_build
import nic
import udev
from tier import Tier

SNAPSHOT = "6"  # version of fetch(): another number fetches everything again
LIMIT = 600  # seconds, for the whole life of the machine
TIERS = {"nic": nic.TIER, "fpga": fpga.TIER, "fpga_plain": fpga.PLAIN}
BUILD = "/build"  # folder of the tested programs
SHELL = "/bin/dash"  # busybox's shell would prefer busybox's programs
KEY = "/usr/share/keyrings/debian-archive-keyring.gpg"
SOURCES = "".join(f"deb [signed-by={KEY}] http://deb.debian.org/debian {suite} main\n" for suite in ("bookworm", "bookworm-backports"))
INIT = """#!/bin/busybox sh
export PATH=/bin:/sbin:/usr/bin LD_LIBRARY_PATH=/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu
mount -t proc none /proc
mount -t sysfs none /sys
mount -t debugfs none /sys/kernel/debug
mount -t devtmpfs none /dev
mount -t tmpfs none /tmp
mount -t tmpfs none /run
ln -s /proc/self/fd /dev/fd
UDEV
while read -r module; do insmod $module; done </modules
SETTLE
ip link set lo up
cd /tmp
echo "==> the machine is up: $(uname -r)"
PROGRAM --gtest_color=no --gtest_filter='FILTER' </dev/null
echo "==> exit $?"
poweroff -f
"""


def cache() -> Path:
    root = Path(os.environ.get("CARDCAGE_CACHE", Path.home() / ".cache/cardcage"))
    return root / "qemu" / hashlib.sha256((SNAPSHOT + SOURCES).encode()).hexdigest()[:12]


def fetch(folder: Path) -> None:
    """Fetches QEMU with the libraries that this machine lacks, and a kernel, below `folder`."""
    if (folder / "complete").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("lists/partial", "archives/partial"):
        (folder / part).mkdir(parents=True)
    (folder / "sources.list").write_text(SOURCES)
    apt = ["-o", f"Dir::Etc::SourceList={folder}/sources.list", "-o", "Dir::Etc::SourceParts=/dev/null", "-o", f"Dir::State::Lists={folder}/lists",
           "-o", f"Dir::Cache::Archives={folder}/archives", "-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=root", "-qq"]
    run = lambda *command, **more: subprocess.run(command, check=True, stdin=subprocess.DEVNULL, **more)
    run("apt-get", *apt, "update")
    run("apt-get", *apt, "--yes", "--no-install-recommends", "--download-only", "--reinstall", "--target-release", "bookworm-backports", "install",
        "qemu-system-x86", "qemu-system-common", "qemu-system-data", "seabios", "ipxe-qemu")
    depends = run("apt-cache", *apt, "--target-release", "bookworm-backports", "show", "linux-image-amd64", text=True, stdout=subprocess.PIPE).stdout
    [image, *_] = re.findall(r"linux-image-6\.12\.\S+-amd64", depends)
    release = image.removeprefix("linux-image-")

    def extract(place: Path) -> None:
        for package in (folder / "archives").glob("*.deb"):
            run("dpkg-deb", "--extract", package, place)
            package.unlink()

    run("apt-get", *apt, "download", f"{image}-unsigned", udev.PACKAGE, cwd=folder / "archives")
    extract(folder / "root")
    run("depmod", "-b", str(folder / "root"), release)
    run("apt-get", *apt, "download", *kernel_build.packages(release), cwd=folder / "archives")
    extract(folder / "build")
    kernel_build.prepare(folder / "build", release)
    (folder / "complete").touch()


class Archive:
    """A cpio archive (newc), as the kernel unpacks it at its start."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.known: set[str] = set()

    def _add(self, name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        name = name.strip("/")
        if name in self.known:
            return
        parent = os.path.dirname(name)
        if parent:
            self._add(parent, 0o040755)
        self.known.add(name)
        fields = [len(self.known), mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name) + 1, 0]
        self.content += b"070701" + "".join(f"{field:08x}" for field in fields).encode() + name.encode() + b"\0"
        self.content += b"\0" * (-len(self.content) % 4)
        self.content += data + b"\0" * (-len(data) % 4)

    def folder(self, name: str) -> None:
        self._add(name, 0o040755)

    def file(self, name: str, data: bytes, mode: int = 0o755) -> None:
        self._add(name, 0o100000 | mode, data)

    def link(self, name: str, target: str) -> None:
        self._add(name, 0o120777, target.encode())

    def console(self) -> None:
        self._add("dev/console", 0o020600, device=(5, 1))

    def program(self, path: Path, place: str = "") -> None:
        """Adds a program or shared object without its symbols, at its own path or another, with its libraries."""
        with tempfile.NamedTemporaryFile() as stripped:
            subprocess.run(["strip", "-o", stripped.name, path], check=True)
            self.file(place or str(path), Path(stripped.name).read_bytes())
        for library in re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", path], text=True, capture_output=True).stdout):
            self.file(library, Path(library).read_bytes())

    def bytes(self) -> bytes:
        self._add("TRAILER!!!", 0)
        return bytes(self.content)


def kernel_modules(folder: Path, names: list[str]) -> list[Path]:
    """Returns the modules and their dependencies, in the order of loading."""
    [base] = (folder / "root/lib/modules").iterdir()
    needs = {}
    for line in (base / "modules.dep").read_text().splitlines():
        file, _, rest = line.partition(":")
        needs[Path(file).name.split(".")[0].replace("-", "_")] = (base / file, [base / other for other in rest.split()])
    order: list[Path] = []
    for name in names:
        file, others = needs[name.replace("-", "_")]
        for one in [*reversed(others), file]:
            if one not in order:
                order.append(one)
    return order


def initramfs(folder: Path, tier: Tier, program: Path, pattern: str) -> bytes:
    archive = Archive()
    for name in ("proc", "sys", "dev", "tmp", "run", "etc"):
        archive.folder(name)
    archive.console()
    archive.file("bin/busybox", Path("/bin/busybox").read_bytes())
    for applet in subprocess.run(["/bin/busybox", "--list"], text=True, capture_output=True, check=True).stdout.split():
        if applet not in ("busybox", "ip", "nsenter", "sh"):
            archive.link(f"bin/{applet}", "busybox")
    archive.program(Path(SHELL).resolve())
    archive.link("bin/sh", str(Path(SHELL).resolve()))
    for path in tier.programs:
        archive.program(Path(path).resolve())
        archive.link(f"usr/bin/{Path(path).name}", str(Path(path).resolve()))
    if tier.udev:
        udev.add(archive, folder / "root")
    build = program.resolve().parent.parent  # it may be in /tmp, where the machine mounts another folder
    for name in (f"bin/{program.name}", "bin/cardcage-worker", "bin/cardcage-access", f"lib/cardcage/modules/{tier.library}"):
        archive.program(build / name, f"{BUILD}/{name}")
    listed = []
    built = {module.name: module for module in tier.build(folder / "build")}
    # A built module replaces Debian's.
    of_debian = [built.pop(module.name.removesuffix(".xz"), module) for module in kernel_modules(folder, tier.modules)]
    for module in [*of_debian, *built.values()]:
        name = f"lib/modules/{module.name.removesuffix('.xz')}"
        archive.file(name, lzma.decompress(module.read_bytes()) if module.suffix == ".xz" else module.read_bytes())
        listed.append(f"/{name} {tier.parameters.get(module.stem, '')}\n")
    archive.file("modules", "".join(listed).encode(), 0o644)
    init = INIT.replace("PROGRAM", f"{BUILD}/bin/{program.name}").replace("FILTER", pattern)
    init = init.replace("UDEV", udev.START if tier.udev else "").replace("SETTLE", udev.SETTLE if tier.udev else "")
    archive.file("init", init.encode())
    return archive.bytes()


def command(folder: Path, tier: Tier, work: Path) -> list[str]:
    root = folder / "root"
    memory = ["-m", "1536"]
    for node in (0, 1):
        memory += ["-object", f"memory-backend-ram,id=m{node},size=768M", "-numa", f"node,nodeid={node},cpus={node},memdev=m{node}"]
    [kernel] = (root / "boot").glob("vmlinuz-*")
    # One thread for both processors: with two, a processor sometimes misses a wake-up, and sleeps forever.
    return [f"{root}/usr/bin/qemu-system-x86_64", "-L", f"{root}/usr/share/qemu", "-L", f"{root}/usr/share/seabios", "-L", f"{root}/usr/lib/ipxe/qemu",
            "-machine", "q35", "-accel", "tcg,thread=single", "-cpu", "max", "-smp", "2", *memory, "-nographic", "-no-reboot", "-display", "none",
            "-serial", "stdio", "-monitor", f"unix:{work}/monitor,server,nowait", "-device", "intel-iommu,intremap=on", *tier.devices,
            "-kernel", str(kernel), "-initrd", f"{work}/initramfs",
            # On a busy host the kernel's check of its timer finds too few ticks.
            "-append", f"console=ttyS0 intel_iommu=on panic=-1 quiet no_timer_check {tier.arguments}"]


def monitor(work: Path, line: str) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(work / "monitor"))
        connection.sendall(line.encode() + b"\n")
        time.sleep(0.2)


def boot(folder: Path, tier: Tier, work: Path) -> int:
    """Shows the output of the machine, and returns the exit status of the program in it."""
    root = folder / "root"
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{root}/usr/lib/x86_64-linux-gnu:{root}/lib/x86_64-linux-gnu"}
    status = None
    machine = subprocess.Popen(["timeout", "--kill-after=5", str(LIMIT), *command(folder, tier, work)], env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True, errors="replace")
    try:
        for line in machine.stdout:
            print(line.rstrip(), flush=True)
            if asked := re.match(r"@monitor (.*)", line.strip()):
                monitor(work, asked[1])
            if ended := re.match(r"==> exit (\d+)", line.strip()):
                status = int(ended[1])
    finally:
        machine.terminate()
        machine.wait()
    if status is None:
        print(f"the machine ended before the tests had, within its {LIMIT} s", file=sys.stderr)
    return 1 if status is None else status


def main() -> int:
    tier, program, pattern = TIERS[sys.argv[1]], Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "*"
    folder = cache()
    try:
        fetch(folder)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"SKIPPED: QEMU and a kernel cannot be fetched from Debian's backports: {error}")
        return 0
    with tempfile.TemporaryDirectory(prefix="cardcage-qemu-") as work:
        (Path(work) / "initramfs").write_bytes(initramfs(folder, tier, program, pattern))
        return boot(folder, tier, Path(work))


if __name__ == "__main__":
    sys.exit(main())
