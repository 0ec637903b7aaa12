#!/usr/bin/env python3
"""header.py FOLDER: writes headers of a later minor to FOLDER/cardcage: each struct that may grow has another member, each
set of flags another bit, and there is another family. The SDK beside them is today's."""

import os
import re
import shutil
import sys

ABI = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))), "abi")
LEAVES = {"cage_str", "cage_bytes", "cage_attr", "cage_quantity"}
FAMILY = """
#define CAGE_EXT_FUTURE "cage.future/1"
#define CAGE_FUTURE_FLAG (1u << 30)  /* in each set of flags */
#define CAGE_FUTURE_VALUE 29u        /* in each enumeration */
typedef struct cage_future {
  uint32_t struct_size;
  uint32_t reserved;
  cage_status (*foresee)(cage_instance *, const cage_call *);
} cage_future;
#endif /* CARDCAGE_MODULE_H_ */
"""


def grow(text):
    """Adds a member to the end of each struct whose size is stated."""
    def grown(match):
        return match[0] if match[1] in LEAVES else f"  uint64_t future;\n}} {match[1]};"
    return re.sub(r"^\} (cage_\w+);", grown, text, flags=re.M)


def main():
    target = os.path.join(sys.argv[1], "cardcage")
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(os.path.join(ABI, "cardcage"), target)
    for folder, _, files in os.walk(target):
        for name in files:
            path = os.path.join(folder, name)
            if not name.endswith(".h") or name == "layout.h":
                continue
            with open(path, encoding="utf-8") as file:
                text = grow(file.read())
            if name == "module.h":
                text = re.sub(r"(#define CAGE_ABI_MINOR )\d+u", r"\g<1>7u", text)
                text = text.replace("#endif /* CARDCAGE_MODULE_H_ */\n", FAMILY)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)


if __name__ == "__main__":
    main()
