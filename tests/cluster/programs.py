"""The long-running programs of the cluster, each started and stopped by its own process id."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from waiting import Fatal

LOGS = Path("/var/log")  # private to the cluster, see isolate


class Program:
    def __init__(self, *command: str, name: str = ""):
        self.command = command
        self.name = name or os.path.basename(command[0])
        self.log = LOGS / f"{self.name}.log"
        self.process: subprocess.Popen | None = None

    def start(self) -> "Program":
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def check(self) -> None:
        """Raises if the program has exited by itself."""
        status = self.process.poll() if self.process else None
        if status is not None:
            tail = self.log.read_text(errors="replace").splitlines()[-15:]
            raise Fatal(f"{self.name} exited with {status}; the end of {self.log.name}:\n" + "\n".join(tail))

    def stop(self, how: signal.Signals = signal.SIGTERM, seconds: float = 10) -> None:
        if not self.process:
            return
        self.process.send_signal(how)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def restart(self, how: signal.Signals = signal.SIGTERM, meanwhile: Callable[[], None] | None = None) -> float:
        """Stops and starts the program; returns the time of the start (time.monotonic)."""
        self.stop(how)
        if meanwhile:
            meanwhile()
        moment = time.monotonic()
        self.start()
        return moment
