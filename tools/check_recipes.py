"""Checks the recipes of CONTRIBUTING.md. Each recipe says how many files a change touches at most, and lists those of an
example that exists. The list must name each file of the product that mentions the example, except those that only use
it, and must be within the limit."""

import collections
import pathlib
import re
import sys

from check_paths import tracked

# Vendors' modules, examples and simulations use what the product offers; tests count if the recipe names them.
PRODUCT = ("abi", "charts", "config", "ctl", "docs/module-author.md", "docs/operator.md", "fleet", "host", "modules/mock",
           "proto", "web")
LIMITS = {"A new family of the module ABI": 25, "A new field of a device": 25, "A new TOML key": 6}

# pattern: how files name the example. uses: product files that name it and need no change for another one of its kind.
Example = collections.namedtuple("Example", "name pattern uses")
EXAMPLES = {
    "A new family of the module ABI": Example(
        "cage.reset/1",
        r"\bCAGE_EXT_RESET\b|\bcage_reset\b|\bcage\.reset\b|\bext/reset\.h\b|\bResetCall\b|\bFamily::kReset\b|"
        r"\bRequest::kReset\b|\bCALL_RESET\b|\bRESET:|## R24:|\bresets_a_device\b|\bbytes reset\b|\bvoid reset\(const cage::Call",
        {"abi/cardcage/layout.h": "has the layouts of version 1.0",
         "host/health/rules.cc": "tells operators which modules reset devices",
         "host/health/rules.h": "tells operators which modules reset devices",
         "host/module/check_modules.cc": "checks the operator's rules of health, which may reset devices",
         "host/supervision/device_care.cc": "calls it"}),
    "A new field of a device": Example(
        "CAGE_DEVICE_SHARED",
        r"\bCAGE_DEVICE_SHARED\b|\"allowMultipleAllocations\"|\bbool shared = \d|\bshared = (?:false|true)\b|"
        r"\bfn shared\(|\b(?:device|part|from)\.shared\b|\.shared\(\)",
        {"abi/cardcage/ext/policy.h": "is for devices with this flag",
         "host/conformance/trial.cc": "claims an amount of such a device",
         "host/sinks/snapshot_sink.cc": "checks the policies of such a device",
         "host/slices/slice_check.cc": "checks the policies of such a device",
         "host/slices/slice_view.cc": "knows the feature gate that drops it",
         "modules/mock/report.c": "reports it"}),
    "A new TOML key": Example("node.numa_attribute", r"\bnuma_attribute\b",
                              {"charts/cardcage/values.yaml": "names it as an example of a key",
                               "host/serving/listed_module.cc": "uses the value"}),
}


def sections(text):
    """Maps the heading of each section to its text."""
    parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def named_files(text):
    """The files that a text quotes; a name without a folder lies in the folder of the file before it."""
    folder, files = pathlib.Path(), set()
    for quoted in re.findall(r"`([\w./-]+)`", text):
        found = pathlib.Path(quoted) if "/" in quoted else folder / quoted
        if found.is_file():
            files.add(str(found))
            folder = found.parent
    return files


def problems_of(heading, text, example):
    stated = re.search(r"[Uu]p to (\d+) files", text)
    if not stated or int(stated.group(1)) > LIMITS[heading]:
        yield f"state 'up to {LIMITS[heading]} files', or fewer"
        return
    listed = named_files("\n".join(re.findall(r"^(?:\d\.|  ) .*", text, re.MULTILINE)))
    written = named_files(text.partition("Commands write")[2])
    for name in sorted(listed - {"abi/CHANGELOG.md"}):  # it is younger than some examples
        if not re.search(example.pattern, pathlib.Path(name).read_text(encoding="utf-8")):
            yield f"{name} does not name {example.name}"
    naming = {name for name in tracked(*PRODUCT)
              if re.search(example.pattern, pathlib.Path(name).read_text(encoding="utf-8", errors="replace"))}
    for name in sorted(naming - listed - written - set(example.uses)):
        yield f"{name} names {example.name}, but not in the recipe: remove the repetition, or list the file"
    for name in sorted(set(example.uses) - naming):
        yield f"{name} does not use {example.name} any more: remove it from {sys.argv[0]}"
    if len(listed) > int(stated.group(1)):
        yield f"lists {len(listed)} files, {stated.group(1)} are allowed"
    print(f"{heading}: {len(listed)} files, and {len(written)} written by commands")


def main():
    found = sections(pathlib.Path("CONTRIBUTING.md").read_text(encoding="utf-8"))
    problems = [f"CONTRIBUTING.md, '{heading}': {problem}" for heading, example in EXAMPLES.items()
                for problem in problems_of(heading, found[heading], example)]
    if problems:
        print("\n".join(problems))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
