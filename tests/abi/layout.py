#!/usr/bin/env python3
"""Compares the layout of the C headers in abi/cardcage with the golden file and names the rule that a difference breaks.

layout.py [--update | aarch64]: covers every size, offset, member type, constant and signature, as clang sees them on
this machine or on AArch64.
layout.py --freeze: writes abi/cardcage/layout.h, once for each major.
"""

import json
import os
import re
import subprocess
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOLDEN = os.path.join(ROOT, "tests/golden/abi/layout.txt")
HEADER = os.path.join(ROOT, "abi/cardcage/module.h")
LAYOUT = os.path.join(ROOT, "abi/cardcage/layout.h")
FROZEN = {"cage_str", "cage_bytes", "cage_attr", "cage_quantity"}
DRAFTS = {"cage_binding", "cage_snapshot_binding", "cage_bind_sink", "cage_bind", "cage_pod", "cage_sandbox"}
PLACE = re.compile(r"\(unnamed at [^)]*\)")

LAYOUT_HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes and offsets of module ABI 1.0, asserted in every build of a module. Structs may grow at their
 * end [R2], leaf types may not; drafts are left out. Made once by `tests/abi/layout.py --freeze`. */
#ifndef CARDCAGE_LAYOUT_H_
#define CARDCAGE_LAYOUT_H_
#ifndef CARDCAGE_MODULE_H_
#include "module.h"
#endif
#define CAGE_FIXED(type, bytes) typedef char cage_fixed_##type[sizeof(type) == (bytes) ? 1 : -1]
#define CAGE_SIZE(type, bytes) typedef char cage_size_##type[sizeof(type) >= (bytes) ? 1 : -1]
#define CAGE_AT(type, member, bytes) \\
  typedef char cage_at_##type##_##member[offsetof(type, member) == (bytes) ? 1 : -1]

"""
LAYOUT_END = """
#undef CAGE_FIXED
#undef CAGE_SIZE
#undef CAGE_AT
#endif /* CARDCAGE_LAYOUT_H_ */
"""


def clang(language, *arguments):
    target = ["--target=aarch64-linux-gnu", "-ffreestanding"] if sys.argv[1:] == ["aarch64"] else []
    command = ["clang-19", "-x", language, "-fsyntax-only", "-Wno-everything", *target, *arguments, HEADER]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def records():
    """{'struct cage_str': ['0 const char * data', ..., 'size 16 align 8']}; without members of members."""
    found = {}
    for block in clang("c", "-Xclang", "-fdump-record-layouts-complete").split("*** Dumping AST Record Layout")[1:]:
        lines = [PLACE.sub("unnamed", line) for line in block.splitlines() if "|" in line]
        name = lines[0].split("| ", 1)[1]
        if "cage_" not in name:
            continue
        members = [re.match(r"\s*(\d+) \|   (\S.*)", line) for line in lines[1:]]
        size = re.search(r"sizeof=(\d+), align=(\d+)", block)
        found[name] = [f"{match[1]} {match[2]}" for match in members if match] + [f"size {size[1]} align {size[2]}"]
    return found


def constants():
    """['CAGE_OK = 0', 'CAGE_ENTRY = "cage_module_v1"', ...] and the signature of the entry."""
    found = []

    def value(node):
        """The value of the constant expression, which may be inside a conversion."""
        return node["value"] if node["kind"] == "ConstantExpr" else value(node["inner"][0])

    def walk(node):
        if node.get("kind") == "EnumConstantDecl" and node["name"].startswith("CAGE_"):
            found.append(f"{node['name']} = {value(node['inner'][0])}")
        if node.get("kind") == "FunctionDecl" and node["name"].startswith("cage_"):
            found.append(f"{node['name']}: {node['type']['qualType']}")
        for child in node.get("inner", []):
            walk(child)

    walk(json.loads(clang("c++", "-std=c++17", "-Xclang", "-ast-dump=json")))
    macros = subprocess.run(["clang-19", "-x", "c", "-dM", "-E", HEADER], check=True, capture_output=True, text=True)
    found += [f"{name} = {value}" for name, value in re.findall(r"#define (CAGE_\w+) (\".*\"|0x\w+|\d+u)\n", macros.stdout)]
    return found


def growth(lines):
    return "may grow" if any(line.endswith(" struct_size") for line in lines) else "frozen"


def render():
    parts = [f"{name}: {growth(lines)}\n" + "".join(f"  {line}\n" for line in lines) for name, lines in sorted(records().items())]
    return "\n".join(parts) + "\nconstants\n" + "".join(f"  {line}\n" for line in sorted(constants()))


def parse(text):
    return {block.split("\n")[0].rsplit(": ", 1)[0]: block.rstrip("\n").split("\n")[1:] for block in text.split("\n\n")}


def same(old, new):
    """A reserved member may get a meaning, because it was always zero before."""
    return old == new or (re.search(r" reserved\d*$", old) and old.rsplit(" ", 1)[0] == new.rsplit(" ", 1)[0])


def judge(name, old, new):
    """Describes the change in one record, and whether an older module still works."""
    if new is None:
        return f"BREAKS [R2]: {name} is missing"
    if old is None:
        return f"addition: {name}"
    kept = len(new) >= len(old) and all(map(same, old[:-1], new))
    changes = "".join(f"\n    - {line.strip()}" for line in old if line not in new)
    changes += "".join(f"\n    + {line.strip()}" for line in new if line not in old)
    if name == "constants":
        gone = [line for line in old if line not in new and not line.strip().startswith("CAGE_ABI_MINOR")]
        return ("BREAKS [R10]: a constant or signature changed" if gone else "addition: constants") + changes
    if name.split()[-1] in FROZEN or name.startswith("union"):
        return f"BREAKS [R2]: {name} sits in arrays or in other structs and is frozen" + changes
    if kept:
        return f"addition: {name} grew at its end or uses a reserved member" + changes
    return f"BREAKS [R2]: members of {name} were moved, changed or removed; only append" + changes


def assertions():
    """The text of layout.h."""
    lines = []
    for name, found in sorted(records().items()):
        type_name = name.split()[-1]
        if not name.startswith("struct ") or type_name in DRAFTS:
            continue
        size = found[-1].split()[1]
        members = [line.split() for line in found[:-1] if not re.search(r" reserved\d*$", line)]
        asserts = [f"CAGE_{'FIXED' if type_name in FROZEN else 'SIZE'}({type_name}, {size});"]
        asserts += [f"CAGE_AT({type_name}, {words[-1]}, {words[0]});" for words in members]
        lines += textwrap.wrap(" ".join(asserts).replace(", ", ",~"), 118, subsequent_indent="  ")
    return LAYOUT_HEAD + "\n".join(lines).replace("~", " ") + "\n" + LAYOUT_END


def main():
    if sys.argv[1:] == ["--freeze"]:
        text = assertions()
        with open(LAYOUT, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    now = render()
    if "--update" in sys.argv[1:]:
        with open(GOLDEN, "w", encoding="utf-8") as file:
            file.write(now)
        return 0
    with open(GOLDEN, encoding="utf-8") as file:
        golden = file.read()
    if golden == now:
        return 0
    old, new = parse(golden), parse(now)
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            print(judge(name, old.get(name), new.get(name)))
    print("\nabi/RULES.md has the rules. An addition: raise CAGE_ABI_MINOR, describe it in abi/CHANGELOG.md, run\n"
          "tests/abi/layout.py --update. A break: raise CAGE_ABI_MAJOR too, which every vendor must follow.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
