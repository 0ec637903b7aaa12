"""Container images without a registry: the one that tools/image makes, and busybox from a file of this machine, imported into containerd."""

import hashlib
import io
import json
import subprocess
import tarfile
from pathlib import Path

from node import CONTAINERD_SOCKET, PAUSE_IMAGE

BUSYBOX = Path("/bin/busybox")
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

    def bytes(self) -> bytes:
        self.tar.close()
        return self.buffer.getvalue()


def archive(name: str, layer: Layer, entrypoint: list[str]) -> bytes:
    content = layer.bytes()
    config = json.dumps({
        "architecture": architecture(), "os": "linux", "rootfs": {"type": "layers", "diff_ids": [digest(content)]},
        "config": {"Entrypoint": entrypoint, "Env": ["PATH=/usr/bin:/bin"]}}).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    outer = Layer()
    for path, data in (("manifest.json", manifest), ("config.json", config), ("layer.tar", content)):
        outer.file(path, data, 0o644)
    return outer.bytes()


def architecture() -> str:
    return subprocess.run(["dpkg", "--print-architecture"], text=True, capture_output=True, check=True).stdout.strip()


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def variant(archive: Path, name: str, layer: Layer) -> bytes:
    """The image of an OCI archive under another name, and with one more layer."""
    with tarfile.open(archive) as source:
        content = {entry.name: source.extractfile(entry).read() for entry in source if entry.isreg()}

    def blob(of: dict) -> dict:
        return json.loads(content["blobs/sha256/" + of["digest"].removeprefix("sha256:")])

    def store(data: bytes) -> dict:
        content["blobs/sha256/" + digest(data).removeprefix("sha256:")] = data
        return {"digest": digest(data), "size": len(data)}

    index = json.loads(content["index.json"])
    [image] = index["manifests"]
    manifest = blob(image)
    config = blob(manifest["config"])
    added = layer.bytes()
    config["rootfs"]["diff_ids"].append(digest(added))
    manifest["layers"].append({"mediaType": "application/vnd.oci.image.layer.v1.tar", **store(added)})
    manifest["config"].update(store(json.dumps(config).encode()))
    image.update(store(json.dumps(manifest).encode()))
    image["annotations"] = {"io.containerd.image.name": f"docker.io/library/{name}"}
    content["index.json"] = json.dumps(index).encode()
    outer = Layer()
    for path, data in content.items():
        outer.file(path, data, 0o644)
    return outer.bytes()


def load(archive: bytes) -> None:
    subprocess.run(["ctr", f"--address={CONTAINERD_SOCKET}", "--namespace=k8s.io", "images", "import", "-"],
                   input=archive, check=True, capture_output=True)


def busybox(folder: str = "/bin") -> Layer:
    layer = Layer().file(f"{folder}/busybox", BUSYBOX)
    for applet in subprocess.run([str(BUSYBOX), "--list"], text=True, capture_output=True, check=True).stdout.split():
        layer.link(f"{folder}/{applet}", "busybox")
    return layer.folder("/tmp", 0o1777)


def load_busybox() -> None:
    """Loads busybox, also under the name in examples/, and the pause image, whose process only has to keep running."""
    for name in (BUSYBOX_IMAGE, "docker.io/library/busybox:1.37"):
        load(archive(name, busybox(), ["/bin/sh"]))
    load(archive(PAUSE_IMAGE, Layer().file("/bin/busybox", BUSYBOX), ["/bin/busybox", "sleep", "2147483647"]))


def load_ubuntu() -> None:
    """Loads busybox under the name in NVIDIA's examples, which call bash."""
    bash = b'#!/usr/bin/busybox sh\nexec /usr/bin/busybox sh "$@"\n'
    load(archive("docker.io/library/ubuntu:22.04", busybox("/usr/bin").file("/usr/bin/bash", bash), ["/bin/sh"]))


def load_debian(image: Path) -> None:
    """Loads the part of Debian that examples/ need: its C library, which the daemon's image has, and a shell."""
    load(variant(image, "debian:12", busybox("/usr/bin")))
