"""Images with this machine's C library, ldconfig, and a CUDA library of their own; to the loader they look like CUDA images."""

import subprocess
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

from images import Layer, archive, busybox, load

COMPAT = "/usr/local/cuda/compat"  # CUDA images have their driver's libraries here
PROBE = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **names) {
  void *library = count > 1 ? dlopen(names[1], RTLD_NOW) : 0;
  if (!library) return puts(dlerror()), 1;
  return puts(((const char *(*)(void))dlsym(library, "whose"))()), 0;
}
"""


def compiled(source: str, *options: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made"
        subprocess.run(["g++", "-x", "c", "-", "-o", made, *options], input=source, text=True, check=True)
        return made.read_bytes()


def libcuda(whose: str) -> bytes:
    """A real shared library that names its origin."""
    return compiled(f'const char *whose(void) {{ return "{whose}"; }}', "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")


def c_library() -> dict[str, Path]:
    """The loader and the C library by their paths in an image."""
    said = subprocess.run(["ldd", "/bin/sh"], text=True, capture_output=True, check=True).stdout.split()
    return {path: Path(path).resolve() for path in said if path.startswith("/")}


def load_glibc_image(name: str, compat: str = "", baked: bool = True) -> None:
    """Loads an image with `probe` and `ldconfig`. `compat`: the version of a libcuda that it has in COMPAT. `baked`: it has a
    cache that ldconfig wrote when the image was built."""
    layer = busybox("/bin").file("/sbin/ldconfig", Path("/sbin/ldconfig")).file("/bin/probe", compiled(PROBE))
    for path, file in c_library().items():
        layer.file(path, file)
    layer.folder("/usr/lib64").file("/etc/ld.so.conf", b"include /etc/ld.so.conf.d/*.conf\n", 0o644)
    layer.file("/etc/ld.so.conf.d/000_cuda.conf", f"{COMPAT}\n".encode(), 0o644)
    if compat:
        layer.file(f"{COMPAT}/libcuda.so.{compat}", libcuda("the image's"))
        layer.link(f"{COMPAT}/libcuda.so.1", f"libcuda.so.{compat}")
    if baked:
        with tempfile.TemporaryDirectory() as root:
            with tarfile.open(fileobj=BytesIO(layer.buffer.getvalue())) as content:
                content.extractall(root)
            subprocess.run(["/sbin/ldconfig", "-r", root], check=True)
            layer.file("/etc/ld.so.cache", Path(root) / "etc/ld.so.cache", 0o644)
    load(archive(name, layer, ["/bin/sh"]))
