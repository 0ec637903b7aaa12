#!/usr/bin/env python3
"""Compares the ABI of the headers in abi/cardcage with that of 1.0, as abidiff sees it in debug information.

abi_check.py           proves that abidiff finds incompatible changes and allows additions, then compares
abi_check.py --freeze  writes tests/abi/1.0.abixml, once for each major
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ABI = os.path.join(os.path.dirname(os.path.dirname(HERE)), "abi")
KEPT = os.path.join(HERE, "1.0.abixml")
# Outside the promise of abi/STABILITY.md.
DRAFTS = {"cage_binding", "cage_snapshot_binding", "cage_bind_sink", "cage_bind", "cage_pod", "cage_sandbox"}
# Never change: they are elements of arrays and members of other structs [R2].
LEAVES = {"cage_str", "cage_bytes", "cage_attr", "cage_quantity"}
# The lines of a report about additions: members at the end of structs, reserved members with a meaning, values of
# enumerations. (abidiff's own suppression of members at the end hides other changes of the same struct.)
HARMLESS = [re.compile(pattern) for pattern in (
    r"\w+ changes summary: ", r"\d+ Changed variables?:", r"\[C\] '", r"type of variable changed:", r"in pointed to type ",
    r"in unqualified underlying type ", r"unqualified underlying type .* changed, as reported earlier", r"type size hasn't changed",
    r"return type changed:", r"\d+ data member insertions?:", r"\d+ data member changes?:", r"no data member change",
    r"'uint32_t reserved\d*' at offset \d+ \(in bits\) became 'uint32_t \w+'", r"\d+ enumerator insertions?:", r"'.*CAGE_\w+' value '\d+'",
    r"underlying type 'enum ", r"type of '.*' changed:$", r"type of '.*' changed, as reported earlier")]
STRUCT = re.compile(r"underlying type 'struct (\w+)'.* changed:")
SIZE = re.compile(r"type size changed from (\d+) to \d+ \(in bits\)")
INSERTION = re.compile(r"'.*', at offset (\d+) \(in bits\)")

# Each edits one header so that modules of 1.0 break: (file, text, its replacement).
BREAKS = {
    "a member in the middle": ("module.h", "  uint32_t state_version;          /* written", "  uint32_t more, state_version;    /* written"),
    "another type of a member": ("ext/exec.h", "  int32_t  signal;", "  int64_t  signal;"),
    "members that change places": ("ext/metrics.h", "  cage_str name;                   /* [a-z]", "  cage_str help_text;\n  cage_str name;  /* [a-z]"),
    "another number of a constant": ("module.h", "CAGE_HEALTH_BAD = 2", "CAGE_HEALTH_BAD = 7"),
    "another parameter of a function": ("ext/reset.h", "const cage_call *, cage_str device_id)", "const cage_call *, const char *device_id)"),
    "a function that is gone": ("module.h", "  cage_status (*resume)(cage_instance *, const cage_call *);\n", ""),
    "a leaf type that grows": ("module.h", "typedef struct cage_str   { const char *data; size_t size; }", "typedef struct cage_str   { const char *data; size_t size; void *owner; }"),
}
# Each is an addition that a minor may make.
ADDS = {
    "a member at the end": ("module.h", "  const void *(*extension)(const char *id);  /* [any-thread]; unknown", "  const void *(*extension)(const char *id); uint64_t more;  /* unknown"),
    "a value of an enumeration": ("module.h", "       CAGE_HEALTH_DEGRADED = 4 };", "       CAGE_HEALTH_DEGRADED = 4, CAGE_HEALTH_MORE = 5 };"),
    "a meaning for a reserved member": ("ext/reset.h", "  uint32_t reserved;", "  uint32_t flags;"),
    "a family": ("ext/reset.h", "#define CAGE_EXT_RESET", "typedef struct cage_more { uint32_t struct_size; } cage_more;\n#define CAGE_EXT_RESET"),
}


def headers(abi):
    folder = os.path.join(abi, "cardcage")
    return [os.path.join(folder, "module.h"), *sorted(os.path.join(folder, "ext", name) for name in os.listdir(os.path.join(folder, "ext")))]


def probe_source(abi):
    """A library with a variable of each struct, and of the first constant of each enumeration."""
    text = "".join(re.sub(r"/\*.*?\*/", "", open(path, encoding="utf-8").read(), flags=re.S) for path in headers(abi))
    structs = [name for name in re.findall(r"^\} (cage_\w+);", text, re.M) if name not in DRAFTS]
    structs += re.findall(r"^typedef struct (cage_\w+)\s*\{.*\} \1;", text, re.M)
    enums = re.findall(r"\benum \{\s*(CAGE_\w+)", text)
    lines = [f"const {name} *probe_{name};" for name in sorted(set(structs))]
    lines += [f"decltype({name}) probe_{name};" for name in sorted(enums) if "BINDING" not in name]
    return '#include <cardcage/module.h>\nextern "C" {\n' + "\n".join(lines) + f"\ndecltype(&{entry()}) probe_entry;\n}}\n"


def entry():
    with open(os.path.join(ABI, "cardcage/module.h"), encoding="utf-8") as file:
        return re.search(r'CAGE_ENTRY\s+"(\w+)"', file.read())[1]


def build_probe(abi, folder):
    source, library = os.path.join(folder, "probe.cc"), os.path.join(folder, "probe.so")
    with open(source, "w", encoding="utf-8") as file:
        file.write(probe_source(abi))
    # layout.h would refuse most breaks before abidiff sees them.
    subprocess.run(["g++", "-std=c++17", "-g", "-O0", "-shared", "-fPIC", "-DCARDCAGE_LAYOUT_H_", f"-I{abi}", "-o", library, source], check=True)
    return library


def breaks(report):
    """Returns the lines of abidiff's report that are not additions."""
    found, name, size = [], "", 0
    for line in map(str.strip, report.splitlines()):
        if match := STRUCT.match(line):
            name = match[1]
            if name in LEAVES:
                found.append(line)
        elif match := SIZE.match(line):
            size = int(match[1])
        elif match := INSERTION.match(line):
            if int(match[1]) < size:
                found.append(f"{name}: {line}")
        elif line and not any(pattern.match(line) for pattern in HARMLESS):
            found.append(f"{name}: {line}")
    return found


def difference(abi, folder):
    """The breaks that abidiff finds between 1.0 and the headers in `abi`."""
    done = subprocess.run(["abidiff", "--no-added-syms", KEPT, build_probe(abi, folder)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode & 3:
        raise RuntimeError(done.stdout)
    return breaks(done.stdout) if done.returncode else []


def changed(name, change, folder):
    """A copy of the headers with the change."""
    file, old, new = change
    copy = os.path.join(folder, "abi")
    shutil.copytree(os.path.join(ABI, "cardcage"), os.path.join(copy, "cardcage"))
    path = os.path.join(copy, "cardcage", file)
    with open(path, encoding="utf-8") as source:
        text = source.read()
    if old not in text:
        raise RuntimeError(f"'{name}': {file} does not have the text '{old}' any more; adapt abi_check.py")
    with open(path, "w", encoding="utf-8") as source:
        source.write(text.replace(old, new))
    return copy


def self_test():
    failures = []
    for is_break, changes in ((True, BREAKS), (False, ADDS)):
        for name, change in changes.items():
            with tempfile.TemporaryDirectory() as folder:
                found = difference(changed(name, change, folder), folder)
            if bool(found) != is_break:
                failures.append(f"abidiff {'does not find' if is_break else 'refuses'} {name}: {found}")
    return failures


def freeze():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["abidw", "--no-corpus-path", "--no-comp-dir-path", "--short-locs", "--no-show-locs", "--out-file", KEPT,
                        build_probe(ABI, folder)], check=True)


def main():
    if sys.argv[1:] == ["--freeze"]:
        freeze()
        return 0
    if platform.machine() != "x86_64":
        print("skipped: 1.0.abixml is of x86-64; layout.py compares the layout of AArch64")
        return 0
    failures = self_test()
    with tempfile.TemporaryDirectory() as folder:
        found = difference(ABI, folder)
    if found:
        failures.append("the headers break modules that were built for 1.0:\n" + "\n".join(found) + "\n"
                        "abi/STABILITY.md says what a minor may change; anything else needs a new CAGE_ABI_MAJOR.")
    print("\n".join(failures) or f"{len(BREAKS)} breaks found, {len(ADDS)} additions allowed, the headers keep 1.0")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
