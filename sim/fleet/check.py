"""Waits until the page at an address knows a number of nodes. Usage: check.py URL NODES"""

import json
import sys
import time
import urllib.request
from http.cookiejar import CookieJar
from urllib.parse import urljoin

SECONDS = 60


def main() -> int:
    url, nodes = sys.argv[1], int(sys.argv[2])
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    browser.open(url, timeout=SECONDS).read()
    deadline = time.monotonic() + SECONDS
    while True:
        with browser.open(urljoin(url, "/api/v1/summary"), timeout=SECONDS) as response:
            summary = json.load(response)
        if summary["synced"] and summary["nodes"] == nodes:
            break
        if time.monotonic() > deadline:
            print(f"the page knows {summary['nodes']} of {nodes} nodes after {SECONDS} s", file=sys.stderr)
            return 1
        time.sleep(0.1)
    print("{devices} devices on {nodes} nodes: {unhealthy} unhealthy, {cordoned} cordoned, {held} held, {free} free"
      .format(**summary))
    for driver in summary["drivers"]:
        print("  {driver}, {model}: {devices} devices on {nodes} nodes".format(**driver))
    print("top causes: " + ", ".join(f"{cause['cause']} ({cause['devices']})" for cause in summary["causes"][:5]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
