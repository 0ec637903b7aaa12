"""kubectl as users run it: apply, delete, exec, logs, and a description of all objects after a failure."""

import json
import subprocess
import time

from node import KUBECONFIGS


# A kubelet that has just started does not know the pods of its node yet, and refuses logs and exec.
UNKNOWN_TO_KUBELET = "could not find the requested resource ( pods/"


def kubectl(*arguments: str, stdin: str = "", check: bool = True, seconds: float = 60) -> str:
    for tries_left in range(40, -1, -1):
        done = subprocess.run(["kubectl", f"--kubeconfig={KUBECONFIGS}/admin.conf", *arguments], input=stdin, text=True,
                              capture_output=True, timeout=seconds)
        if done.returncode == 0 or UNKNOWN_TO_KUBELET not in done.stderr or tries_left == 0:
            break
        time.sleep(0.5)
    assert not check or done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr or done.stdout}"
    return done.stdout if check else done.stdout + done.stderr


def apply(*objects: dict, namespace: str = "") -> None:
    where = [f"--namespace={namespace}"] if namespace else []
    kubectl("apply", *where, "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))


def execute(namespace: str, pod: str, *command: str, container: str = "", check: bool = True) -> str:
    which = [f"--container={container}"] if container else []
    return kubectl("exec", f"--namespace={namespace}", pod, *which, "--", *command, check=check)


def logs(namespace: str, pod: str, container: str = "") -> str:
    which = [f"--container={container}"] if container else []
    return kubectl("logs", f"--namespace={namespace}", pod, *which)
