"""The health, compared with nvidia-smi's remapped rows, ECC errors and recovery actions, in both directions."""

from compare import known, require_none

JUDGED = ("Access", "Ecc", "RecoveryAction", "RetiredPages", "RowRemap")  # the others need minutes, or events of the past


def test_health(devices, report, instances):
    problems = []
    for device, gpu, _ in known(devices, report, instances):
        faults, health = gpu.faults(), device["health"]
        state = "unhealthy" if any(faults.values()) else "healthy"
        if health["state"] != state:
            problems.append(f"{device['name']} health: Cardcage has {health['state']} ({health['message']}), "
                            f"nvidia-smi has {state} ({', '.join(faults) or 'no fault'})")
        causes = {each["cause"]: each for each in health["causes"]}
        for cause in JUDGED:
            seen = bool(causes.get(cause, {}).get("reason"))  # even if the cause only informs
            if seen != (cause in faults):
                problems.append(f"{device['name']} {cause}: Cardcage has {causes.get(cause, {}).get('reason') or 'no fault'}, "
                                f"nvidia-smi has {', '.join(faults) or 'no fault'}")
    require_none(problems)
