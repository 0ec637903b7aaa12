"""Each library that a mounted file needs or loads by name is mounted, where images of either family find it."""

import json
import re
from pathlib import PurePath

import pytest

import elf
from node import CAPABILITIES, Node

FOLDERS = {"Red Hat": "/usr/lib64", "Debian": "/usr/lib/x86_64-linux-gnu"}  # glibc searches them without a cache

# Libraries of the image: the C library, OpenSSL, X, Wayland, GLVND's dispatch libraries, and what Debian's build of
# nvidia-persistenced needs.
IMAGE = re.compile(r"(ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libutil|libgcc_s|libstdc\+\+|libcrypto|"
                   r"libX11|libX11-xcb|libXext|libxcb|libxcb-[a-z0-9]+|libpciaccess|libdrm|libgbm|"
                   r"libwayland-(client|server|egl)|libEGL|libGL|libGLdispatch|libtirpc)\.so\.\d+(\.1)?$")

# (capabilities, library, name of the driver): the reason why a container may lack it.
LOOKED_FOR = [
    ("compute|video", r"libcuda|libnvidia-opencl|libcudadebugger", r"libEGL_nvidia\.so(\.0)?|libGLX_nvidia\.so\.0",
     "CUDA shares memory with OpenGL only in a program that draws, which has asked for graphics"),
    ("video", r"libvdpau_nvidia", r"libEGL_nvidia\.so\.0",
     "VDPAU of 470 shares images with EGL only in a program that draws, which has asked for graphics"),
]


def folders_of(node: Node, capabilities: str) -> dict[str, set[str]]:
    """Names of libraries that the loader finds, by family of images."""
    targets = [PurePath(mount.target) for mount in node.mounts[capabilities]]
    return {family: {target.name for target in targets if str(target.parent) == folder}
            for family, folder in FOLDERS.items()}


def stem(name: str) -> str:
    return name.split(".so")[0]


def is_excused(capabilities: str, library: str, name: str) -> bool:
    return any(re.fullmatch(which, capabilities) and re.match(f"({loader})\\.so", library) and re.fullmatch(names, name)
               for which, loader, names, _ in LOOKED_FOR)


@pytest.mark.parametrize("capabilities", CAPABILITIES)
def test_libraries_find_each_other(node, capabilities):
    problems = set()
    for source in {mount.source for mount in node.mounts[capabilities]}:
        if not elf.is_elf(source) or source == node.nvml:
            continue
        library = elf.read(source)
        for family, found in folders_of(node, capabilities).items():
            problems |= {f"{family}: {source.name} needs {name}" for name in set(library.needed) - found
                         if not IMAGE.match(name)}
            wanted = {name for name in library.named & node.names
                      if stem(name) != stem(source.name) and not is_excused(capabilities, source.name, name)}
            problems |= {f"{family}: {source.name} loads {name}" for name in wanted - found}
    assert not problems, f"{node} with {capabilities}: {len(problems)} are missing\n" + "\n".join(sorted(problems))


def test_the_names_are_read(node):
    """The names that the test above checks are read: with one name less this test fails."""
    sources = {PurePath(mount.target).name: mount.source for mount in node.mounts["all"]}
    cuda, opencl, server = (sources[name] for name in ("libcuda.so.1", "libnvidia-opencl.so.1", "libGLX_nvidia.so.0"))
    assert elf.read(cuda).soname == "libcuda.so.1" and "libnvidia-ptxjitcompiler.so.1" in elf.read(cuda).named
    compiler = f"libnvidia-nvvm.so.{node.version}" if node.branch != "470" else f"libnvidia-compiler.so.{node.version}"
    assert compiler in elf.read(opencl).named & node.names
    assert f"libnvidia-glcore.so.{node.version}" in elf.read(server).needed


def test_loaders_find_the_libraries_of_their_files(node):
    """OpenCL's file has the name of a library, those of Vulkan and EGL have it as library_path."""
    named = {}
    for mount in node.mounts["all"]:
        if mount.target.endswith(".icd"):
            named[mount.target] = mount.source.read_text().strip()
        if mount.target.endswith(".json"):
            content = json.loads(mount.source.read_text())
            part = content.get("ICD") or content.get("layer") or content["layers"][0]
            named[mount.target] = part["library_path"]
    assert len(named) >= 4, f"{node} has {named}"
    paths = {mount.target for mount in node.mounts["all"]}
    for file, library in named.items():
        for family, found in folders_of(node, "all").items():
            assert library in found | paths, f"{node}: {file} names {library}, which is not in {FOLDERS[family]}"


@pytest.mark.parametrize("capabilities", CAPABILITIES)
def test_no_place_is_filled_twice(node, capabilities):
    targets = [mount.target for mount in node.mounts[capabilities]]
    assert len(targets) == len(set(targets)), sorted(target for target in targets if targets.count(target) > 1)
    for mount in node.mounts[capabilities]:
        assert str(mount.source).startswith(f"{node.root}/"), mount
        assert mount.source.is_file() and not mount.source.is_symlink(), mount
