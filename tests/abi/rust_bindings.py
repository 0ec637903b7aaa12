#!/usr/bin/env python3
"""rust_bindings.py [--update]: checks that abi/rust/src/raw/abi.rs is what bindgen makes of the C headers; --update writes it."""

import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILE = os.path.join(ROOT, "abi/rust/src/raw/abi.rs")
# bindgen 0.60 cannot read unnamed enums with a newer libclang.
LIBCLANG = "/usr/lib/llvm-14/lib"
OPTIONS = ["--allowlist-file", ".*/abi/cardcage/.*", "--blocklist-type", "cage_(needs_lp64|fixed_.*|size_.*|at_.*)", "--no-layout-tests", "--no-doc-comments", "--no-derive-debug",
           "--size_t-is-usize", "--ctypes-prefix", "std::os::raw", "--no-rustfmt-bindings"]


def all_headers() -> str:
    families = sorted(os.listdir(os.path.join(ROOT, "abi/cardcage/ext")))
    return "".join(f'#include "cardcage/{name}"\n' for name in ["module.h", *(f"ext/{family}" for family in families)])


def made_by_bindgen() -> str:
    # bindgen reads C from a file that ends in .h, not from its input.
    header = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"cardcage-{os.getpid()}.h")
    with open(header, "w", encoding="utf-8") as file:
        file.write(all_headers())
    try:
        return subprocess.run(["bindgen", header, *OPTIONS, "--", f"-I{ROOT}/abi"], env={**os.environ, "LIBCLANG_PATH": LIBCLANG},
                              check=True, text=True, stdout=subprocess.PIPE).stdout
    finally:
        os.unlink(header)


def as_the_crate_names_it(made: str) -> str:
    """Ids are texts without a NUL, statuses have their type, and the enums, which C leaves unnamed, are numbers."""
    made = re.sub(r'& ?\[u8 ?; \d+usize\] = b"([^"]*)\\0"', r'&str = "\1"', made)
    statuses = re.search(r"const CAGE_OK ?: (_bindgen_ty_\d+)", made)[1]
    made = re.sub(r"pub type (__u?int\d+_t|_bindgen_ty_\d+) = [^;]*;", "", made)
    made = re.sub(rf": {statuses}\b", ": cage_status", made)
    return re.sub(r": _bindgen_ty_\d+ =", ": u32 =", made)


def bindings() -> str:
    body = re.sub(r"/\*.*?\*/", "", as_the_crate_names_it(made_by_bindgen()))
    head = "// SPDX-License-Identifier: Apache-2.0\n// Made from the headers by `tests/abi/rust_bindings.py --update`.\n\n"
    return subprocess.run(["/usr/bin/rustfmt", "--edition", "2021", "--config-path", f"{ROOT}/abi/rust/rustfmt.toml"], input=head + body,
                          check=True, text=True, stdout=subprocess.PIPE).stdout


def main() -> int:
    if not shutil.which("bindgen"):
        print("no bindgen found")
        return 0
    made = bindings()
    if sys.argv[1:] == ["--update"]:
        with open(FILE, "w", encoding="utf-8") as file:
            file.write(made)
        return 0
    with open(FILE, encoding="utf-8") as file:
        if file.read() == made:
            return 0
    print("abi/rust/src/raw/abi.rs differs from abi/cardcage: run tests/abi/rust_bindings.py --update")
    return 1


if __name__ == "__main__":
    sys.exit(main())
