#!/usr/bin/env python3
"""rust_layout.py RUSTC: checks abi/rust/src/raw against the golden layout of the C header, which layout.py checks.

It writes a program that states every type, offset, size and constant of the golden file, and lets rustc judge it.
"""

import os
import re
import subprocess
import sys
import tempfile

from layout import GOLDEN, ROOT, parse

RAW = os.path.join(ROOT, "abi/rust/src/raw/mod.rs")
SCALARS = {"uint32_t": "u32", "int32_t": "i32", "uint64_t": "u64", "int64_t": "i64", "size_t": "usize", "char": "c_char", "double": "f64", "void": "c_void"}
FUNCTION = re.compile(r"(.*?)\(\*\)\((.*)\)")
MEMBER = re.compile(r"(\d+) (.*) (\w+)")
SIZE = re.compile(r"size (\d+) align (\d+)")


def rust_type(c_type):
    function = FUNCTION.fullmatch(c_type)
    if function:
        arguments = ", ".join(rust_type(argument.strip()) for argument in function[2].split(","))
        result = "" if function[1].strip() == "void" else f" -> {rust_type(function[1].strip())}"
        return f'Option<unsafe extern "C" fn({arguments}){result}>'
    if "unnamed" in c_type:
        return "cage_attr_value"
    words = re.findall(r"\w+|\*", re.sub(r"\b(struct|union) ", "", c_type))
    constant = words[0] == "const"
    found = SCALARS.get(words[constant], words[constant])
    for word in words[constant + 1:]:
        if word == "*":
            found, constant = ("*const " if constant else "*mut ") + found, False
        else:
            constant = True
    return found


def rust_name(word):
    return f"r#{word}" if word == "type" else word


def checks_of_record(name, lines):
    record = "cage_attr_value" if "unnamed" in name else name.split()[1]
    *members, size = lines
    yield "{ let held = MaybeUninit::<%s>::uninit(); let p = held.as_ptr();" % record
    for offset, c_type, member in (MEMBER.fullmatch(line.strip()).groups() for line in members):
        place = f"std::ptr::addr_of!((*p).{rust_name(member)})"
        yield f'  let at: *const {rust_type(c_type)} = unsafe {{ {place} }};'
        yield f'  check("{record}.{member}", {offset}, at as usize - p as usize);'
    bytes_, alignment = SIZE.fullmatch(size.strip()).groups()
    yield f'  check("size of {record}", {bytes_}, size_of::<{record}>());'
    yield f'  check("alignment of {record}", {alignment}, align_of::<{record}>()); }}'


def checks_of_constants(lines):
    for line in lines:
        name, _, value = line.strip().partition(" = ")
        if value.startswith('"'):
            yield f'assert_eq!({name}, {value}, "{name}");'
        elif value:
            yield f'check("{name}", {value.rstrip("u")}, {name} as usize);'


def program():
    with open(GOLDEN, encoding="utf-8") as file:
        records = parse(file.read())
    constants = records.pop("constants")
    lines = [line for name, members in records.items() for line in checks_of_record(name, members)]
    lines += checks_of_constants(constants)
    return f"""#![allow(dead_code)]
#[path = "{RAW}"]
mod raw;
use raw::*;
use std::mem::{{align_of, size_of, MaybeUninit}};
use std::os::raw::{{c_char, c_void}};
fn check(what: &str, expected: usize, found: usize) {{
    assert_eq!(expected, found, "{{}} is {{}} in C and {{}} in abi/rust", what, expected, found);
}}
fn main() {{
    {chr(10).join(lines)}
}}
"""


def main():
    if sys.argv[1:] in ([], ["RUSTC-NOTFOUND"]):
        print("no rustc found; tools/setup installs it")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        source, binary = os.path.join(folder, "layout.rs"), os.path.join(folder, "layout")
        with open(source, "w", encoding="utf-8") as file:
            file.write(program())
        compiled = subprocess.run([sys.argv[1], "--edition", "2021", "-o", binary, source], check=False)
        if compiled.returncode or subprocess.run([binary], check=False).returncode:
            print("abi/rust/src/raw differs from abi/cardcage: bring it up to date")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
