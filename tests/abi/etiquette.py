#!/usr/bin/env python3
"""etiquette.py MODULE.so...: checks the rules in abi/RULES.md that a file reveals: one export [R1], and no import of
functions that a guest in the host's process must not call [R9]."""

import re
import subprocess
import sys

FORBIDDEN = re.compile(
    r"^(v?fork|clone3?|posix_spawnp?|exec[lv]p?e?|system|popen|signal|sigaction|sigprocmask|setenv|putenv|unsetenv|clearenv|"
    r"chdir|umask|setlocale|_?exit|quick_exit|atexit|alarm|setitimer|mlockall|setrlimit|"
    r"_*(v?printf|puts|putchar|perror)(_chk)?|std(in|out|err)|_ZSt4(cout|cerr|clog))(@.*)?$")


def symbols(option, path):
    lines = subprocess.run(["nm", "-D", option, path], check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.split()[-1] for line in lines]


def problems(path):
    exports = symbols("--defined-only", path)
    if exports != ["cage_module_v1"]:
        yield f"exports {', '.join(exports) or 'nothing'}, not cage_module_v1 alone: link with abi/module.map [R1]"
    for name in symbols("--undefined-only", path):
        if FORBIDDEN.match(name):
            yield f"uses {name}, which changes the process of the host [R9]"
    headers = subprocess.run(["readelf", "-ldW", path], check=True, capture_output=True, text=True).stdout
    if re.search(r"GNU_STACK.*RWE", headers):
        yield "needs an executable stack [R9]"
    if re.search(r"\(TEXTREL\)", headers):
        yield "has text relocations, build it with -fPIC [R9]"


def main():
    found = [f"{path}: {problem}" for path in sys.argv[1:] for problem in problems(path)]
    print("\n".join(found) or f"{len(sys.argv) - 1} modules")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
