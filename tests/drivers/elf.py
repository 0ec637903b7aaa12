"""The dependencies of a 64-bit ELF file, and the libraries that its text names."""

import mmap
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path

PT_LOAD, PT_DYNAMIC = 1, 2
DT_NEEDED, DT_STRTAB, DT_SONAME = 1, 5, 14
# A whole text of the file that looks like a SONAME or a link to one.
NAME = re.compile(rb"\0(lib[A-Za-z0-9_+-]+\.so(?:\.[0-9]+(?:\.[0-9]+)*)?)\0")


@dataclass(frozen=True)
class Library:
    soname: str = ""
    needed: tuple[str, ...] = ()
    named: frozenset[str] = field(default_factory=frozenset)


def is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(5) == b"\x7fELF\x02"


_libraries: dict[int, Library] = {}  # by inode: many layouts link to one file


def read(path: Path) -> Library:
    inode = path.stat().st_ino
    if inode not in _libraries:
        _libraries[inode] = _read(path)
    return _libraries[inode]


def _read(path: Path) -> Library:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        assert data[:5] == b"\x7fELF\x02", f"{path} is not a 64-bit ELF file"
        offset, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
        segments = [struct.unpack_from("<IIQQQQQQ", data, offset + i * size) for i in range(count)]

        def at(address: int) -> int:
            return next(address - start + where for kind, _, where, start, _, length, *_ in segments
                        if kind == PT_LOAD and start <= address < start + length)

        entries = [struct.unpack_from("<qQ", data, begin + i) for kind, _, begin, _, _, length, *_ in segments
                   if kind == PT_DYNAMIC for i in range(0, length, 16)]
        names = next((at(value) for tag, value in entries if tag == DT_STRTAB), 0)

        def text(place: int) -> str:
            return data[names + place:data.find(b"\0", names + place)].decode()

        return Library(soname=next((text(value) for tag, value in entries if tag == DT_SONAME), ""),
                       needed=tuple(text(value) for tag, value in entries if tag == DT_NEEDED),
                       named=frozenset(_names_in(data)))


def _names_in(data: mmap.mmap):
    place = data.find(b"\0lib")
    while place >= 0:
        if found := NAME.match(data, place):
            yield found[1].decode()
        place = data.find(b"\0lib", place + 1)
