"""Waiting with an end: every loop of the suite is this one."""

import time


def until(probe, what: str, seconds: float, every: float = 0.2):
    """Calls probe() until it returns something true, and returns that. Says what it saw last when time is up.

    A probe that cannot answer yet may raise; a probe that knows better than "not yet" returns falsy and leaves its
    observation in the exception text of a failed assertion.
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
        except Exception as error:  # the observation is what the caller wants to read when time is up
            last = f"{type(error).__name__}: {error}"
        if time.monotonic() >= end:
            raise TimeoutError(f"{what}: not within {seconds:g} s; last seen: {last}")
        time.sleep(every)


class Fatal(Exception):
    """Ends a wait at once: what it waits for can no longer come."""
