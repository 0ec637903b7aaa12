#!/usr/bin/env python3
"""Checks that CHANGELOG.md has the project's version on top, and only kinds of changes of Keep a Changelog."""

import re
import sys

from pages import SOURCE

KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def main():
    version = re.search(r"project\(cardcage VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
    text = (SOURCE / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[(\S+)\] - (?:unreleased|\d{4}-\d\d-\d\d)$", text, re.MULTILINE)
    found = []
    if versions[:1] != [version]:
        found.append(f"CHANGELOG.md begins with {versions[:1] or 'no version'}, and the project has version {version}")
    if len(versions) != len(re.findall(r"^## ", text, re.MULTILINE)):
        found.append("CHANGELOG.md: a heading is not of the form '## [1.2.3] - 2027-01-31' or '## [1.2.3] - unreleased'")
    found += [f"CHANGELOG.md: '{kind}' is not one of {', '.join(sorted(KINDS))}"
              for kind in re.findall(r"^### (.*)$", text, re.MULTILINE) if kind not in KINDS]
    print("\n".join(found) or f"version {version}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
