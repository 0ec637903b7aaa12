"""Checks that every header compiles by itself, with the flags of the dev preset's compile commands. A source file that
includes its header first has proved that already, so only the other headers are compiled here."""

import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys


def flags():
    """The include and define flags of all units together. Where two programs define a macro, the first one counts."""
    found = {}
    with open("build/dev/compile_commands.json", encoding="utf-8") as file:
        for unit in json.load(file):
            words = shlex.split(unit["command"])
            for index, word in enumerate(words):
                if word.startswith(("-I", "-D")):
                    found.setdefault(word.partition("=")[0], word)
                elif word == "-isystem":
                    found[words[index + 1]] = f"-isystem{words[index + 1]}"
    return list(found.values())


def compile_alone(header, common):
    """Compiles a unit of its own per header, so that the compiler cache serves the headers that did not change."""
    unit = os.path.join("build/headers", header.replace("/", "_") + ".cc")
    with open(unit, "w", encoding="utf-8") as file:
        file.write(f'#include "{header}"\n')
    run = subprocess.run(["ccache", "g++", "-std=c++23", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", *common, "-c", unit, "-o", unit + ".o"],
                         capture_output=True, text=True, check=False)
    return f"{header}: does not compile by itself\n{run.stderr}" if run.returncode else None


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *patterns], check=True, capture_output=True, text=True)
    return [name for name in listed.stdout.split() if os.path.exists(name)]


def included_first():
    """The headers that some source file includes before anything else."""
    found = set()
    for name in tracked("*.cc", "*.c"):
        with open(name, encoding="utf-8") as file:
            first = re.search(r'^#include ["<]([^">]+)', file.read(), re.MULTILINE)
        if first:
            found.add(first[1])
    return found


def main():
    proved = included_first()
    listed = tracked("host/*.h", "abi/*.h", "abi/*.hpp", "ctl/*.h", "tests/*.h", ":!tests/qemu/fpga_cards")  # the kernel's
    headers = [name for name in listed if name not in proved]
    common = flags()
    os.makedirs("build/headers", exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [text for text in pool.map(lambda header: compile_alone(header, common), headers) if text]
    print("\n".join(problems) or f"{len(headers)} headers that no source file includes first")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
