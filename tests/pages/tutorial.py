#!/usr/bin/env python3
"""Follows a tutorial as a reader does: runs its commands in one shell, and compares their output with the page.

tutorial.py docs/tutorial-NAME.md FOLDER MODULES    FOLDER is that of abi.vendor.install, MODULES has the modules of Cardcage

The text block behind a shell block shows what its commands print; a line `…` stands for any lines. A command with the comment
`# fails` must fail, every other must not.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from pages import SOURCE, blocks, run_by, split

sys.path.insert(0, str(SOURCE / "tests/abi"))
from vendor import environment  # noqa: E402

LIMIT = 150  # seconds
# The vendor's module, whose name is part of a path below /tmp.
MODULE, OWN_MODULE = "acme", f"acme{os.getpid()}"
MARK = "@@ command "
# Users, times, durations, pids and digests differ each time, numbers of checks with a sanitizer.
DIFFERS = ((re.compile(r"\bby \S+ since\b"), "by USER since"), (re.compile(r"\b\d+ (passed|skipped)\b"), r"N \1"),
           (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "TIME"), (re.compile(r"\b\d+(\.\d+)?(ms|s)\b"), "DURATION"),
           (re.compile(r"\b(pid|UID) [\w-]+"), r"\1 ID"), (re.compile(r"\b[0-9a-f]{12,64}\b"), "DIGEST"), (re.compile(r"\s+"), " "))


def normal(line, home):
    line = line.replace(home, "~").replace("/home/alice", "~").replace(OWN_MODULE, MODULE)
    for pattern, word in DIFFERS:
        line = pattern.sub(word, line)
    return line.strip()


def script_of(commands):
    """Each command prints its number, which marks its output, and ends the shell if it fails unexpectedly."""
    lines = []
    for number, command in enumerate(commands):
        wanted = "!=" if re.search(r"# fails\b", command.splitlines()[0]) else "=="
        lines += [f"echo '{MARK}{number}'", command, f'if ! [ $? {wanted} 0 ]; then echo "{MARK}failed: {number}"; exit 1; fi']
    return "\n".join(lines) + "\nexec 2> /dev/null\nkill $(jobs -p)\nwait\n"


def run(commands, home, env):
    """The output of each command."""
    with tempfile.TemporaryFile("w+") as output:
        shell = subprocess.Popen(["bash", "-uc", script_of(commands)], cwd=home, env=env, stdin=subprocess.DEVNULL, stdout=output,
                                 stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            shell.wait(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            print(f"the commands do not end within {LIMIT} s")
        finally:
            try:
                os.killpg(shell.pid, signal.SIGKILL)  # the daemon, if a command failed
            except ProcessLookupError:
                pass
        output.seek(0)
        seen = output.read()
    print(seen, flush=True)
    parts = re.split(rf"^{MARK}(\d+)\n", seen, flags=re.MULTILINE)[1:]
    ran = dict(zip(map(int, parts[::2]), parts[1::2]))
    failed = re.search(rf"{MARK}failed: (\d+)", seen)
    if failed:
        sys.exit(f"the command does not end as it should:\n{commands[int(failed[1])]}")
    if len(ran) != len(commands):
        sys.exit(f"{len(ran)} of {len(commands)} commands were run; the last one is:\n{commands[len(ran) - 1]}")
    return ran


def compare(shown, printed, home):
    """The first line of the page that is missing at its place in the output, or None."""
    lines = iter([normal(line, home) for line in printed.splitlines()])
    for line in filter(None, (normal(line, home) for line in shown.splitlines())):
        if line != "…" and line not in lines:
            return line
    return None


def main():
    page, folder, modules = sys.argv[1:]
    commands = run_by(__file__, page)
    number, shown = 0, []  # the expected output of ranges of commands
    for block in blocks(page):
        if block.language == "sh":
            first, number = number, number + len(split(block.text))
        elif block.language == "text" and number:
            shown.append((first, number, block.text))
    with tempfile.TemporaryDirectory() as home:
        own = [command.replace("/usr/lib/cardcage/modules", modules).replace(MODULE, OWN_MODULE) for command in commands]
        try:
            ran = run(own, home, environment(f"{folder}/moved", home))
        finally:
            shutil.rmtree(f"/tmp/{OWN_MODULE}-desk", ignore_errors=True)
        wrong = [line for first, last, text in shown if (line := compare(text, "".join(ran[one] for one in range(first, last)), home))]
    for line in wrong:
        print(f"{page} shows what is not printed:\n  {line}")
    print(f"{len(commands)} commands, {len(shown)} outputs")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
