"""Checks the floor plan of host/. The list of rooms in host/CMakeLists.txt begins at the bottom: a room includes only rooms
before it in the list and links exactly those that it includes. Only main.cc lies outside a room, tests/unit mirrors
the rooms, and ARCHITECTURE.md draws them all. Simulated hardware (sim/) includes no test."""

import pathlib
import re
import sys

HOST = pathlib.Path("host")
INCLUDE = re.compile(r'^#include "host/(?:(\w+)/)?[^"]+"', re.MULTILINE)
LOOSE = re.compile(r"main\.cc|CMakeLists\.txt")


def rooms_from_the_bottom_up():
    return re.findall(r"^add_subdirectory\((\w+)\)", (HOST / "CMakeLists.txt").read_text(encoding="utf-8"), re.MULTILINE)


def included_rooms(folder):
    """Maps each room that the files of a folder include to the first file that does."""
    found = {}
    for file in sorted(folder.glob("*")):
        if file.suffix in (".cc", ".h"):
            for room in INCLUDE.findall(file.read_text(encoding="utf-8")):
                found.setdefault(room, file)
    return found


def linked_rooms(cmake_file, rooms):
    """The rooms that the target of a CMakeLists.txt links; a library does not link itself."""
    text = cmake_file.read_text(encoding="utf-8")
    links = re.findall(r"(?:LINK|PUBLIC|PRIVATE)\s([^)]*)\)", text)
    return {room for group in links for room in re.findall(r"\bcardcage_(\w+)", group)} & set(rooms)


def problems_of_includes(room, included, below):
    for other, file in included.items():
        if other == "":
            yield f"{file}: a room includes only files of rooms"
        elif other != room and other not in below:
            yield f"{file}: includes host/{other}, which does not come before host/{room} in host/CMakeLists.txt"


def problems_of_links(name, cmake_file, included, rooms):
    linked = linked_rooms(cmake_file, rooms)
    wanted = set(included) - {"", name}
    for other in sorted(wanted - linked):
        yield f"{cmake_file}: includes host/{other} but does not link cardcage_{other}"
    for other in sorted(linked - wanted):
        yield f"{cmake_file}: links cardcage_{other} but includes nothing of host/{other}"


def main():
    rooms = rooms_from_the_bottom_up()
    problems = []
    drawing = pathlib.Path("ARCHITECTURE.md").read_text(encoding="utf-8").split("```")[1]
    for entry in sorted(HOST.iterdir()):
        if entry.is_dir() and entry.name not in rooms:
            problems.append(f"{entry}: not a room of host/CMakeLists.txt")
        if entry.is_file() and not LOOSE.fullmatch(entry.name):
            problems.append(f"{entry}: belongs in a room; only main.cc lies directly in host/")
    for index, room in enumerate(rooms):
        included = included_rooms(HOST / room)
        problems += problems_of_includes(room, included, rooms[:index])
        problems += problems_of_links(room, HOST / room / "CMakeLists.txt", included, rooms)
        if not re.search(rf"\b{room}\b", drawing):
            problems.append(f"ARCHITECTURE.md: the floor plan does not show host/{room}")
    problems += problems_of_links("", HOST / "CMakeLists.txt", included_rooms(HOST), rooms)
    for file in sorted(pathlib.Path("sim").rglob("*")):
        if file.suffix in (".cc", ".h") and '#include "tests/' in file.read_text(encoding="utf-8"):
            problems.append(f"{file}: includes a file of the tests; simulated hardware is built without them")
    for tests in sorted(pathlib.Path("tests/unit").iterdir()):
        if tests.is_dir() and tests.name not in rooms + ["ctl", "web", "fleet"]:
            problems.append(f"{tests}: mirrors no room of host/")
    print("\n".join(problems) or f"{len(rooms)} rooms")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
