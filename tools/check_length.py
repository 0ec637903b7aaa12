"""Lists the files longer than 500 lines and the functions longer than 60.

Formatted code shows where a function is: a line ends in '{', and the closing brace stands alone at the same indentation.
Namespaces, types and extern blocks do not count.
"""

import re
import subprocess
import sys

FILE_LIMIT, FUNCTION_LIMIT = 500, 60
NOT_A_FUNCTION = re.compile(r"^\s*(namespace|class|struct|enum|union|extern|typedef|static const|#|const .*=|constexpr|return)\b|=\s*\{$")


def functions(lines):
    for start, line in enumerate(lines):
        if not line.rstrip().endswith("{") or "(" not in line and not line.startswith((" " * 4, ")")):
            continue
        indent = len(line) - len(line.lstrip())
        if indent > 2 or NOT_A_FUNCTION.match(line):
            continue
        for end in range(start + 1, len(lines)):
            if lines[end].startswith(" " * indent + "}"):
                yield start + 1, end - start + 1
                break


def main():
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", "*.cc", "*.h", "*.hpp", "*.c", "*.py"], check=True,
                           capture_output=True, text=True).stdout.split()
    failed = False
    for name in names:
        with open(name, encoding="utf-8") as file:
            lines = file.read().split("\n")
        if len(lines) > FILE_LIMIT:
            print(f"{name}: {len(lines)} lines, the limit is {FILE_LIMIT}: split it by subject")
            failed = True
        if name.endswith(".py") or name.startswith("tests/"):
            continue
        for line, length in functions(lines):
            if length > FUNCTION_LIMIT:
                print(f"{name}:{line}: a function of {length} lines, the limit is {FUNCTION_LIMIT}")
                failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main())
