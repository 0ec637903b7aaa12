#!/usr/bin/env python3
"""Checks that a test runs each command of the pages that people copy from: see RULES of pages.py."""

import re
import sys

from pages import PAGES, RULES, SOURCE, commands, rule_of


def problems():
    listed = commands()
    for page in PAGES:
        if not any(command.page == page for command in listed):
            yield f"{page}: no command is found"
    for command in listed:
        if rule_of(command) is None:
            yield (f"{command.page}: under '{command.heading}': no test runs '{command.text}': "
                   "let one run it, and add a rule to tests/pages/pages.py")
    used = {rule_of(command) for command in listed}
    for rule in RULES:
        where = f"tests/pages/pages.py: the rule for {rule.page} and {rule.test}"
        if rule not in used:
            yield f"{where} has no command"
        file = SOURCE / rule.test
        if not file.exists():
            yield f"{where}: there is no such test"
            continue
        text = file.read_text(encoding="utf-8")
        if rule.pattern and not re.search(rule.pattern, text):
            yield f"{where}: nothing in the test matches {rule.pattern}"
        if not rule.pattern and not re.search(r"\brun_by\(__file__", text):
            yield f"{where}: the test does not take its commands from run_by(__file__, PAGE)"


def main():
    found = list(problems())
    print("\n".join(found) or f"{len(commands())} commands of {len(PAGES)} pages, each run by a test")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
