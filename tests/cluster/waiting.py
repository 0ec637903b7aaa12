"""Bounded waiting: the only polling loop of the suite, and limits of time."""

import os
import time


def on_this_machine(seconds: float) -> float:
    """A limit for an idle machine, made longer by the programs that share each processor now. CI compiles beside this suite."""
    return seconds * max(1, os.getloadavg()[0] / os.cpu_count())


def until(probe, what: str, seconds: float, every: float = 0.2):
    """Calls probe() until it returns a true value, and returns that value. A timeout reports the last observation.

    A probe that is not satisfied yet returns a false value or raises; the text of its exception is the observation.
    """
    end = time.monotonic() + seconds
    last = "nothing"
    while True:
        try:
            result = probe()
            if result:
                return result
            last = repr(result)
        except Fatal:
            raise
        except Exception as error:  # a timeout reports this observation
            last = f"{type(error).__name__}: {error}"
        if time.monotonic() >= end:
            raise TimeoutError(f"{what}: not within {seconds:g} s; last seen: {last}")
        time.sleep(every)


class Fatal(Exception):
    """Ends a wait at once, because its condition can no longer become true."""
