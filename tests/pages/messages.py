#!/usr/bin/env python3
"""Checks that Cardcage prints the messages which docs/troubleshooting.md lists: each is in the sources of its program."""

import re
import sys

from pages import SOURCE

PAGE = "docs/troubleshooting.md"
ROW = re.compile(r"^\| (`.*) \| ([\w ]+) \| ")
PROGRAM = ("host/**/*.cc", "host/**/*.h", "ctl/*.cc", "modules/**/*.cc")
SPEAKERS = {"chart": ("charts/cardcage/templates/*.tpl",), "helm": ("tests/chart/test_values.py",),
            "check": ("tests/golden/config/*.errors",), **dict.fromkeys(("status", "event", "log", "cagectl", "modules"), PROGRAM)}
OTHERS = {"kubelet", "containerd", "scheduler", "API server", "dynamic loader"}  # not from these sources
LITERALS = re.compile(r'"\s*\n\s*"')  # one text in two pieces


def sources(patterns):
    files = sorted(file for pattern in patterns for file in SOURCE.glob(pattern))
    return LITERALS.sub("", "\n".join(file.read_text(encoding="utf-8") for file in files)).replace('\\"', '"')


def pieces(message):
    """The fixed text between the variable parts, if it is long enough to be significant."""
    found = (re.sub(r"^\W+|\W+$", "", piece) for piece in message.split("…"))
    return [piece for piece in found if len(piece) >= 6]


def problems(page, texts):
    rows = 0
    for number, line in enumerate(page.splitlines(), 1):
        row = ROW.match(line)
        if not row:
            continue
        rows += 1
        if row[2] in OTHERS:
            continue
        if row[2] not in texts:
            yield f"{PAGE}:{number}: '{row[2]}' is not one of {', '.join(sorted({*texts, *OTHERS}))}"
            continue
        for message in re.findall(r"`([^`]*)`", row[1]):
            for piece in pieces(message):
                if piece not in texts[row[2]]:
                    yield f"{PAGE}:{number}: nothing prints '{piece}' (said by {row[2]})"
    if rows < 50:
        yield f"{PAGE}: only {rows} messages are found"


def main():
    found = list(problems((SOURCE / PAGE).read_text(encoding="utf-8"), {name: sources(patterns) for name, patterns in SPEAKERS.items()}))
    print("\n".join(found) or "every message is printed by its program")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
