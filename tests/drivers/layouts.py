"""How distributions lay out the same files of the driver: as links to the files of Debian's packages.

Sources: nvidia-driver.spec of NVIDIA's RPM packages (NVIDIA/yum-packaging-nvidia-driver), and the log of
`nvidia-ctk cdi generate` on a node where NVIDIA's installer ran (ssst0n3/docker_archive,
nvidia-container-toolkit/v1.19.0).
"""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import elf

LAYOUTS = ("debian", "rpm", "run", "container")
MULTIARCH = "usr/lib/x86_64-linux-gnu"
TRIPLETS = ("", "x86_64-linux-gnu")
# Libraries that NVIDIA's installer also links to without a version.
PLAIN = ("libcuda", "libnvcuvid", "libnvidia-allocator", "libnvidia-cfg", "libnvidia-encode", "libnvidia-fbc",
         "libnvidia-ml", "libnvidia-nvvm", "libnvidia-opticalflow", "libnvidia-ptxjitcompiler",
         "libnvidia-vulkan-producer", "libvdpau_nvidia")
CONFIGURATION = ("OpenCL/vendors", "vulkan/icd.d", "vulkan/implicit_layer.d", "glvnd/egl_vendor.d",
                 "egl/egl_external_platform.d", "X11/xorg.conf.d")
PROGRAMS = ("nvidia-smi", "nvidia-debugdump", "nvidia-cuda-mps-control", "nvidia-cuda-mps-server", "nvidia-persistenced",
            "nvidia-xconfig")


def lay_out(layout: str, files: Path, scripts: Path, root: Path) -> None:
    if layout == "debian":
        copy_tree(files, root)
        for name in ("usr/share/doc", "usr/share/man", "usr/share/bug", "usr/share/lintian"):
            shutil.rmtree(root / name, ignore_errors=True)
        merge_usr(root)
        set_alternatives(root, [scripts / "nvidia-alternative/postinst", scripts / "glx-alternative-nvidia/postinst"])
        write_cache(root, "/" + MULTIARCH)
        return
    libraries = {"rpm": "usr/lib64", "run": MULTIARCH, "container": MULTIARCH}[layout]
    place_libraries(files, root, libraries)
    if layout == "rpm":
        swap_names(root / libraries, "libGLX_nvidia")
    place_configuration(files, root, rpm=layout == "rpm")
    for name in PROGRAMS:
        for found in files.rglob(name):
            if found.is_file() and os.access(found, os.X_OK):
                link_file(found, root / "usr/bin" / name)
    for found in files.rglob("gsp_*.bin"):
        link_file(found, root / "lib/firmware/nvidia" / found.parent.name / found.name)
    if layout == "container":
        return  # an image without an X server, whose ld.so.cache does not know the driver
    place_server_modules(files, root / "usr/lib64/xorg/modules")
    write_cache(root, "/" + libraries)


def copy_tree(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True, copy_function=os.link, dirs_exist_ok=True)


def link_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        os.link(source, target)


def write(target: Path, text: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def make_link(link: Path, target: str) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink() and not link.exists():
        link.symlink_to(target)


def place_libraries(files: Path, root: Path, folder: str) -> None:
    for found in sorted(files.rglob("lib*.so*")):
        if found.is_symlink() or "glxserver" in found.name:
            continue
        target = root / folder / ("vdpau" if found.name.startswith("libvdpau") else "") / found.name
        link_file(found, target)
        soname = elf.read(found).soname or found.name
        make_link(target.parent / soname, found.name)
        if soname.split(".so")[0] in PLAIN:
            make_link(target.parent / f"{soname.split('.so')[0]}.so", soname)
    for link in files.rglob("nvidia-drm_gbm.so"):
        make_link(root / folder / "gbm" / link.name, "../libnvidia-allocator.so.1")
    for found in files.rglob("nvoptix.bin"):
        link_file(found, root / "usr/share/nvidia/nvoptix.bin")


def swap_names(folder: Path, stem: str) -> None:
    """The packages make the SONAME the file, so that an upgrade does not take it from programs that run."""
    [versioned] = [path for path in folder.glob(f"{stem}.so.*") if not path.is_symlink()]
    [soname] = [path for path in folder.glob(f"{stem}.so.*") if path.is_symlink()]
    versioned.rename(soname)
    versioned.symlink_to(soname.name)


def place_configuration(files: Path, root: Path, rpm: bool) -> None:
    """RPM packages name the file of Vulkan after the processor, and the library in it by its path; NVIDIA's installer has
    Vulkan's in /etc."""
    for folder in CONFIGURATION:
        for found in [path for path in files.glob(f"*/**/{folder.split('/')[-1]}/*") if path.is_file()]:
            base = "etc" if folder.startswith("OpenCL") or (folder.startswith("vulkan") and not rpm) else "usr/share"
            name = "nvidia_icd.x86_64.json" if rpm and found.name == "nvidia_icd.json" else found.name
            if rpm and folder == "vulkan/icd.d":
                write(root / base / folder / name, found.read_text().replace('"libGLX', '"/usr/lib64/libGLX'))
            else:
                link_file(found, root / base / folder / name)
    for found in files.rglob("nvidia-drm-outputclass.conf"):
        name = "10-nvidia.conf" if rpm else found.name
        link_file(found, root / "usr/share/X11/xorg.conf.d" / name)


def place_server_modules(files: Path, folder: Path) -> None:
    for found in files.rglob("nvidia_drv.so"):
        link_file(found, folder / "drivers" / found.name)
    for found in files.rglob("libglxserver_nvidia.so.*"):
        link_file(found, folder / "extensions" / found.name)
        make_link(folder / "extensions/libglxserver_nvidia.so", found.name)


def set_alternatives(root: Path, scripts: list[Path]) -> None:
    """Makes the links that the packages' scripts order: add_slave LINK NAME FILE, for files that exist."""
    prefixes = {"nvidia-alternative": "nvidia--", "glx-alternative-nvidia": "glx--"}
    for script in scripts:
        for kind, text in re.findall(r"\$\((add_slave|add_multiarch_slave) ([^)$]*)\)", script.read_text()):
            words = shlex.split(text)
            for link, name, file in [words] if kind == "add_slave" else multiarch_slaves(*words):
                if (root / resolved(root, file)).is_file():
                    alternative = f"etc/alternatives/{prefixes[script.parent.name]}{name}"
                    make_link(root / alternative, file)
                    make_link(root / link.lstrip("/"), f"/{alternative}")


def multiarch_slaves(target: str, target_sub: str, file: str, source: str, source_sub: str = "", prefix: str = "",
                     other: str = ""):
    for triplet in TRIPLETS:
        suffix = f"-{triplet}" if triplet else ""
        middle = f"/{triplet}/" if triplet else "/"
        yield (f"{target}{middle}{target_sub}{file}", f"{prefix}{file}{suffix}",
               f"{source}{middle}{source_sub}{other or file}")


def merge_usr(root: Path) -> None:
    """/lib is a link to /usr/lib since Debian 12, and usually before."""
    if (root / "lib").is_dir():
        copy_tree(root / "lib", root / "usr/lib")
        shutil.rmtree(root / "lib")
    make_link(root / "lib", "usr/lib")


def resolved(root: Path, path: str) -> str:
    """The name inside of the root, without links, which never lead out of it."""
    done, left = [], path.strip("/").split("/")
    for _ in range(64):
        if not left:
            break
        part = left.pop(0)
        here = root.joinpath(*done, part)
        if here.is_symlink():
            target = os.readlink(here)
            done = [] if target.startswith("/") else done
            left = [*target.strip("/").split("/"), *left]
        elif part == "..":
            done = done[:-1]
        else:
            done.append(part)
    return "/".join([*done, *left])


def write_cache(root: Path, folder: str) -> None:
    (root / "etc").mkdir(exist_ok=True)
    (root / "etc/ld.so.conf").write_text(f"{folder}\n")
    subprocess.run(["ldconfig", "-r", root, "-X"], check=True)
