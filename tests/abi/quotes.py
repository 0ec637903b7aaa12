#!/usr/bin/env python3
"""quotes.py [--update]: checks that each code block in docs/ after <!-- file: PATH --> quotes that file exactly."""

import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
QUOTE = re.compile(r"(<!-- file: (\S+) -->\n```\w*\n)(.*?)(```\n)", re.DOTALL)


def refreshed(match):
    with open(os.path.join(ROOT, match[2]), encoding="utf-8") as file:
        return match[1] + file.read() + match[4]


def main():
    stale, count = [], 0
    for path in sorted(glob.glob(os.path.join(ROOT, "docs/**/*.md"), recursive=True)):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        now = QUOTE.sub(refreshed, text)
        count += len(QUOTE.findall(text))
        if now == text:
            continue
        if "--update" in sys.argv[1:]:
            with open(path, "w", encoding="utf-8") as file:
                file.write(now)
        else:
            stale.append(f"{os.path.relpath(path, ROOT)}: a quoted file changed; run tests/abi/quotes.py --update")
    print("\n".join(stale) or f"{count} quotes")
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
