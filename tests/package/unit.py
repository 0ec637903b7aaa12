#!/usr/bin/env python3
"""unit.py FILE: the systemd unit still confines the daemon, by `systemd-analyze security`, whose table is printed."""

import re
import shutil
import subprocess
import sys

SKIPPED = 77  # CTest's SKIP_RETURN_CODE
MOST_EXPOSED = 6.2  # on a scale to 10
SETTINGS = ["NoNewPrivileges=yes", "ProtectHostname=yes", "RestrictSUIDSGID=yes", "RestrictNamespaces=mnt net",
            "SystemCallArchitectures=native"]
LISTS = ["SystemCallFilter", "CapabilityBoundingSet"]


def main():
    file = sys.argv[1]
    if not shutil.which("systemd-analyze"):
        print("skipped: no systemd-analyze; it is in Debian's package systemd")
        return SKIPPED
    with open(file, encoding="utf-8") as unit:
        lines = unit.read().splitlines()
    missing = [one for one in SETTINGS if one not in lines]
    missing += [one for one in LISTS if not any(line.startswith(one + "=") for line in lines)]
    # ProtectClock makes an allow list of devices, which locks GPUs out.
    unwanted = [line for line in lines if line.startswith("ProtectClock=")]
    report = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", file], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    print(report)
    exposure = float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", report)[1])
    if missing or unwanted or exposure > MOST_EXPOSED:
        print(f"{file}: exposure {exposure}, at most {MOST_EXPOSED}; missing: {missing}; unwanted: {unwanted}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
