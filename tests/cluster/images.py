"""Container images without a registry: docker-archive files made from files of this machine, imported into containerd."""

import hashlib
import io
import json
import re
import subprocess
import tarfile
from pathlib import Path

from node import CONTAINERD_SOCKET, PAUSE_IMAGE

BUSYBOX_IMAGE = "cardcage.test/busybox:1"


class Layer:
    """The content of an image. Every entry maps a path in the image to a file, a link target or bytes."""

    def __init__(self):
        self.buffer = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.buffer, mode="w", format=tarfile.PAX_FORMAT)
        self.paths: set[str] = set()

    def _add(self, path: str, kind: bytes, mode: int, link: str = "", data: bytes = b"") -> "Layer":
        path = path.strip("/")
        if path in self.paths:
            return self
        if "/" in path:
            self.folder(path.rsplit("/", 1)[0])
        self.paths.add(path)
        entry = tarfile.TarInfo(path)
        entry.type, entry.mode, entry.linkname, entry.size = kind, mode, link, len(data)
        self.tar.addfile(entry, io.BytesIO(data))
        return self

    def folder(self, path: str, mode: int = 0o755) -> "Layer":
        return self._add(path, tarfile.DIRTYPE, mode)

    def file(self, path: str, source: Path | bytes, mode: int = 0o755) -> "Layer":
        return self._add(path, tarfile.REGTYPE, mode, data=source if isinstance(source, bytes) else source.read_bytes())

    def link(self, path: str, target: str) -> "Layer":
        return self._add(path, tarfile.SYMTYPE, 0o777, link=target)

    def program(self, path: str, source: Path) -> "Layer":
        """Adds a program or shared object, and every shared library that it needs."""
        self.file(path, source)
        for library in shared_libraries(source):
            self.file(str(library), library)
        return self

    def bytes(self) -> bytes:
        self.tar.close()
        return self.buffer.getvalue()


def shared_libraries(program: Path) -> list[Path]:
    found = subprocess.run(["ldd", str(program)], text=True, capture_output=True)
    if "not a dynamic executable" in found.stderr + found.stdout or "statically linked" in found.stdout:
        return []
    assert found.returncode == 0, f"ldd {program}: {found.stderr}"
    missing = re.findall(r"(\S+) => not found", found.stdout)
    assert not missing, f"{program} needs {', '.join(missing)}, which this machine does not have"
    return [Path(path) for path in re.findall(r"(/\S+) \(0x", found.stdout)]


def archive(name: str, layer: Layer, entrypoint: list[str]) -> bytes:
    content = layer.bytes()
    digest = hashlib.sha256(content).hexdigest()
    config = json.dumps({
        "architecture": architecture(), "os": "linux", "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        "config": {"Entrypoint": entrypoint, "Env": ["PATH=/usr/bin:/bin"]}}).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    outer = Layer()
    for path, data in (("manifest.json", manifest), ("config.json", config), ("layer.tar", content)):
        outer.file(path, data, 0o644)
    return outer.bytes()


def architecture() -> str:
    return subprocess.run(["dpkg", "--print-architecture"], text=True, capture_output=True, check=True).stdout.strip()


def load(name: str, layer: Layer, entrypoint: list[str]) -> None:
    subprocess.run(["ctr", f"--address={CONTAINERD_SOCKET}", "--namespace=k8s.io", "images", "import", "-"],
                   input=archive(name, layer, entrypoint), check=True, capture_output=True)


def load_busybox() -> None:
    """Loads busybox and the pause image, whose process only has to keep running."""
    busybox = Path("/bin/busybox")
    layer = Layer().file("/bin/busybox", busybox)
    for applet in subprocess.run([str(busybox), "--list"], text=True, capture_output=True, check=True).stdout.split():
        layer.link(f"/bin/{applet}", "busybox")
    layer.folder("/tmp", 0o1777)
    load(BUSYBOX_IMAGE, layer, ["/bin/sh"])
    load(PAUSE_IMAGE, Layer().file("/bin/busybox", busybox), ["/bin/busybox", "sleep", "2147483647"])
