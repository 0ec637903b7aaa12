"""Compiles every header by itself, with the flags of the dev preset's compile commands."""

import concurrent.futures
import json
import os
import shlex
import subprocess
import sys


def flags():
    """The include and define flags of all units together; of a macro that two programs define, the first."""
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
    """A unit of its own per header, so that the compiler cache serves the ones that did not change."""
    unit = os.path.join("build/headers", header.replace("/", "_") + ".cc")
    with open(unit, "w", encoding="utf-8") as file:
        file.write(f'#include "{header}"\n')
    run = subprocess.run(["ccache", "g++", "-std=c++23", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", *common, "-c", unit, "-o", unit + ".o"],
                         capture_output=True, text=True, check=False)
    return f"{header}: does not compile by itself\n{run.stderr}" if run.returncode else None


def main():
    headers = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", "host/*.h", "abi/*.h", "abi/*.hpp", "ctl/*.h", "tests/*.h"],
                             check=True, capture_output=True, text=True).stdout.split()
    common = flags()
    os.makedirs("build/headers", exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [text for text in pool.map(lambda header: compile_alone(header, common), headers) if text]
    print("\n".join(problems) or f"{len(headers)} headers")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
