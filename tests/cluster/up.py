"""Boots the cluster for interactive use: runs a shell or the given command, and stops the cluster when that exits."""

import os
import signal
import subprocess
import sys
import time

from cluster import Cluster
from daemon import Daemon
from node import KUBECONFIGS
from programs import LOGS


def main() -> int:
    command = sys.argv[1:]
    with_daemon = command[:1] == ["--daemon"]
    command = command[with_daemon:]
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
    cluster = Cluster()
    environment = {**os.environ, "KUBECONFIG": f"{KUBECONFIGS}/admin.conf"}
    try:
        cluster.boot()
        print(f"cluster: node Ready after {cluster.boot_seconds:.1f} s; logs in {os.environ['CARDCAGE_CLUSTER_LOGS']}"
              f" ({LOGS} in here)\nKUBECONFIG={environment['KUBECONFIG']}", file=sys.stderr)
        if with_daemon:
            Daemon(cluster.api).install()
        if command:
            return subprocess.run(command, env=environment).returncode
        print("From another terminal, as root: nsenter --all --target $(pgrep -nf 'python3.*/up.py') "
              f"env KUBECONFIG={environment['KUBECONFIG']} PATH={environment['PATH']} bash", file=sys.stderr)
        if sys.stdin.isatty():
            return subprocess.run(["bash", "--norc"], env={**environment, "PS1": "cluster# "}).returncode
        print("stdin is not a terminal: running until interrupted", file=sys.stderr)
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        return 130
    finally:
        cluster.stop()


sys.exit(main())
