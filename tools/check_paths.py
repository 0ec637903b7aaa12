"""Checks that references lead somewhere: the paths in documentation, configuration and sources (not in tests), and the
tests and functions that abi/RULES.md names under "Checked by"."""

import pathlib
import re
import subprocess
import sys

FOLDERS = "abi|charts|cmake|config|ctl|docs|examples|fleet|host|modules|packaging|proto|sim|tests|tools|web"
PATH = re.compile(rf"(?<![\w./-])(?:{FOLDERS})/[\w./-]*\w|(?<=`)\w+\.(?:cc|h|proto)(?=`)")
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
RULE = re.compile(r"^## R\d+: .*?^\*\*Checked by\.\*\* (.*?)\n\n", re.MULTILINE | re.DOTALL)


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *patterns], check=True, capture_output=True, text=True)
    return [name for name in listed.stdout.splitlines() if pathlib.Path(name).is_file()]


def missing_paths(name, text):
    """A quoted file name without a folder lies in the folder of the path before it on the line."""
    for number, line in enumerate(text.splitlines(), 1):
        folder = pathlib.Path(name).parent
        for path in PATH.findall(line):
            if "NNNN" in path:  # a pattern for names
                continue
            found = pathlib.Path(path) if "/" in path else folder / path
            if not found.exists():
                yield f"{name}:{number}: no {found}"
            folder = found if found.is_dir() else found.parent
        for link in LINK.findall(line) if name.endswith(".md") else ():
            if not (pathlib.Path(name).parent / link).exists():
                yield f"{name}:{number}: the link to {link} leads nowhere"


def unknown_checks():
    """Names under "Checked by" that occur nowhere in the host or its tests."""
    words = set()
    for name in tracked("host", "tests/*.cc", "tests/*.h", "tests/*.txt", "abi/cardcage"):
        words.update(re.findall(r"\w+", pathlib.Path(name).read_text(encoding="utf-8")))
    rules = pathlib.Path("abi/RULES.md").read_text(encoding="utf-8")
    if len(RULE.findall(rules)) != rules.count("\n## R"):
        yield 'abi/RULES.md: a rule has no paragraph "Checked by"'
    for checks in RULE.findall(rules):
        for quoted in checks.split("`")[1::2]:
            for word in re.findall(r"\w+", "" if "/" in quoted else quoted):
                if word not in words:
                    yield f"abi/RULES.md: no {word} in host/ or tests/"


def main():
    names = tracked("*.md", "abi/cardcage", "charts", "config", "ctl", "examples", "fleet", "host", "modules", "proto", "sim", "web")
    problems = [problem for name in names for problem in missing_paths(name, pathlib.Path(name).read_text(encoding="utf-8"))]
    problems += unknown_checks()
    print("\n".join(problems) or f"{len(names)} files")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
