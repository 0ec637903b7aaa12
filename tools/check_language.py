"""Checks comments and texts for wordings that readers have to read twice (CONTRIBUTING.md, "Language"). A pattern finds
only some of them; the others are for reviewers."""

import re
import subprocess
import sys

SOURCES = ("*.cc", "*.h", "*.hpp", "*.c", "*.rs", "*.py", "*.go", "*.proto", "*.cmake", "*CMakeLists.txt", "*.toml", "*.yaml",
           "*.sh", "*.js", "*.mjs", "*.css", "tools/*", ".ci/run")
COMMENT = r"(?:(?:^|\s)(?://+|/\*+|#+)|^\s+\*)\s+"
PATTERNS = [
    (re.compile(COMMENT + r"(?:Of|What|Whose|Whoever|Nobody|Somebody|That which|Such)\b"),
     "begin the comment with its subject"),
    (re.compile(r"\S\s+(?://|/\*|#) (?:of|what|whose|whoever|nobody|somebody)\b"), "begin the comment with a noun"),
    (re.compile(r"\b(?:[Ww]hoever|[Nn]obody|[Ss]omebody)(?!\"|\b:)\b"), "name the user, program or caller"),
    (re.compile(r"\"[^\"]*(?<![Tt]here )\b(?:is|are) no (?!longer|more|better)[a-z]"), "write 'is not a' or 'has no'"),
]
# The user and group of Linux.
ACCOUNT = re.compile(r"[\"'`]nobody\b|\bnobody[\"':`]|user nobody|`nobody`")


def sources():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *SOURCES], check=True, capture_output=True,
                            text=True)
    return sorted(set(listed.stdout.split()) - {"tools/check_language.py"})


def problems(name):
    try:
        with open(name, encoding="utf-8") as file:
            lines = file.readlines()
    except (OSError, UnicodeDecodeError):
        return
    for number, line in enumerate(lines, 1):
        for pattern, remedy in PATTERNS:
            if pattern.search(ACCOUNT.sub("", line)):
                yield f"{name}:{number}: {remedy}: {line.strip()}"
                break


def main():
    found = [problem for name in sources() for problem in problems(name)]
    print("\n".join(found) if found else "no wording that a pattern finds")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
