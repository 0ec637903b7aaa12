"""A Debian of one suite that runs its own systemd in namespaces of this machine."""

import os
import shutil
import signal
import subprocess
import tempfile
import time

TESTS = os.path.dirname(os.path.abspath(__file__))
# A version 1 host has the unified hierarchy, which systemd needs, in a folder.
HIERARCHY = "/sys/fs/cgroup/unified" if os.path.isdir("/sys/fs/cgroup/unified") else "/sys/fs/cgroup"


class Machine:
    def __init__(self, suite, packages):
        self.root = subprocess.run([f"{TESTS}/roots", suite], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        self.folder = tempfile.mkdtemp(prefix="cardcage-package-", dir="/var/tmp")
        self.group = f"{HIERARCHY}/{os.path.basename(self.folder)}"
        os.mkdir(self.group)
        self.boot = subprocess.Popen([f"{TESTS}/boot", self.root, self.folder, packages], preexec_fn=self._enter)
        self.init = self._wait_for_init()
        self.run("systemctl is-system-running --wait || true", timeout=60)

    def _enter(self):
        with open(f"{self.group}/cgroup.procs", "w", encoding="ascii") as procs:
            procs.write(str(os.getpid()))

    def _wait_for_init(self):
        for _ in range(200):
            children = f"/proc/{self.boot.pid}/task/{self.boot.pid}/children"
            with open(children, encoding="ascii") as file:
                pids = file.read().split()
            if pids and os.path.exists(f"/proc/{pids[0]}/root/run/systemd/system"):
                return pids[0]
            time.sleep(0.1)
        self.end()
        raise TimeoutError("systemd does not start in namespaces of this machine")

    def run(self, command, check=True, timeout=100):
        """Runs a shell command on the machine as root; returns the finished process with its output."""
        done = subprocess.run(
            ["nsenter", "--target", self.init, "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root",
             "/usr/bin/env", "--chdir=/", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive",
             "bash", "-euo", "pipefail", "-c", command],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False)
        print(f"$ {command}\n{done.stdout}", flush=True)
        assert not check or done.returncode == 0, f"'{command}' ended with {done.returncode}:\n{done.stdout}"
        return done

    def output(self, command):
        return self.run(command).stdout.strip()

    def wait_for(self, command, seconds=30):
        for _ in range(seconds * 5):
            if self.run(command, check=False).returncode == 0:
                return
            time.sleep(0.2)
        raise TimeoutError(f"'{command}' does not succeed within {seconds} s")

    def write(self, path, text):
        file = f"/proc/{self.init}/root{path}"
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "w", encoding="utf-8") as output:
            output.write(text)

    def end(self):
        self.boot.send_signal(signal.SIGKILL)  # ends systemd, and the kernel ends all of its processes
        self.boot.wait()
        for _ in range(50):
            removed = subprocess.run(["find", self.group, "-depth", "-type", "d", "-exec", "rmdir", "{}", "+"],
                                     stderr=subprocess.DEVNULL, check=False)
            if removed.returncode == 0:
                break
            time.sleep(0.1)
        shutil.rmtree(self.folder, ignore_errors=True)
