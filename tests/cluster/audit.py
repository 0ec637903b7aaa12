"""The requests of the daemon, in the API server's audit log."""

import json

from programs import LOGS


def requests() -> list[dict]:
    return [json.loads(line) for line in (LOGS / "audit.log").read_text().splitlines()]
