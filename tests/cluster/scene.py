"""A namespace for the objects of a test, and queries about them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from api import RESOURCES, Api
from images import BUSYBOX_IMAGE
from kubectl import apply, execute, kubectl, logs
from waiting import Fatal, until

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
# Runs until SIGTERM and then ends at once: `sleep` alone as process 1 would ignore SIGTERM.
STAY = "trap 'exit 0' TERM; sleep 3600 & wait"


def container(name: str = "main", command: str = STAY, claims: list[dict] | None = None, limits: dict | None = None, **more) -> dict:
    return {"name": name, "image": BUSYBOX_IMAGE, "imagePullPolicy": "Never", "command": ["/bin/sh", "-c", command],
            "resources": {"claims": claims or [], "limits": limits or {}}, **more}


def pod(name: str, containers: list[dict] | None = None, claims: list[dict] | None = None, **spec) -> dict:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "containers": containers or [container()], "resourceClaims": claims or [], "restartPolicy": "Never", "dnsPolicy": "Default",
        "terminationGracePeriodSeconds": 2, **spec}}


class Scene:
    def __init__(self, api: Api, namespace: str):
        self.api = api
        self.namespace = namespace

    def open(self) -> "Scene":
        self.api.create("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        until(lambda: self.api.get(self.path("serviceaccounts", "default")), "the namespace's service account", 10)
        return self

    def close(self) -> None:
        self.api.delete(f"/api/v1/namespaces/{self.namespace}")

    def path(self, kind: str, name: str = "") -> str:
        prefix = RESOURCES if kind.startswith("resourceclaim") else "/apis/batch/v1" if kind == "jobs" else "/api/v1"
        return f"{prefix}/namespaces/{self.namespace}/{kind}" + (f"/{name}" if name else "")

    def apply(self, *objects: dict) -> None:
        apply(*objects, namespace=self.namespace)

    @contextmanager
    def example(self, name: str, *pods: str) -> Iterator[None]:
        """An unchanged file of examples/, while its pods run. They ignore SIGTERM."""
        kubectl("apply", f"--namespace={self.namespace}", "-f", str(EXAMPLES / name))
        self.wait_running(*pods)
        yield
        kubectl("delete", "pods", f"--namespace={self.namespace}", "--grace-period=1", "--all")

    def wait_log(self, pod: str, pattern: str, container: str = "") -> None:
        until(lambda: re.search(pattern, self.logs(pod, container), re.MULTILINE), f"pod {pod} prints {pattern}", 10)

    def get(self, kind: str, name: str) -> dict | None:
        return self.api.get(self.path(kind, name))

    def items(self, kind: str, **query: str) -> list[dict]:
        return self.api.items(self.path(kind), **query)

    def execute(self, pod: str, *command: str, container: str = "") -> str:
        return execute(self.namespace, pod, *command, container=container)

    def logs(self, pod: str, container: str = "") -> str:
        return logs(self.namespace, pod, container)

    def wait_phase(self, pod: str, phase: str, seconds: float = 30) -> dict:
        def probe():
            found = self.get("pods", pod)
            seen = found["status"].get("phase") if found else "no such pod"
            if seen in ("Failed", "Succeeded") and seen != phase:
                raise Fatal(f"pod {pod} is {seen}, not {phase}: {found['status']}")
            assert seen == phase, f"pod {pod} is {seen}"
            return found
        return until(probe, f"pod {pod} is {phase}", seconds)

    def wait_running(self, *pods: str, seconds: float = 30) -> list[dict]:
        """Waits until the pods are running and all their containers are ready."""
        def ready(name):
            found = self.wait_phase(name, "Running", seconds)
            statuses = found["status"].get("containerStatuses", [])
            return found if statuses and all(s["ready"] for s in statuses) else None
        return [until(lambda name=name: ready(name), f"pod {name} is ready", seconds) for name in pods]

    def delete(self, kind: str, *names: str) -> None:
        for name in names:
            self.api.delete(self.path(kind, name))

    def wait_gone(self, kind: str, *names: str, seconds: float = 30) -> None:
        for name in names:
            until(lambda name=name: self.get(kind, name) is None, f"{kind} {name} is gone", seconds)

    def events(self, reason: str, name: str) -> list[str]:
        """The messages of an object's events with this reason."""
        found = self.items("events", fieldSelector=f"involvedObject.name={name},reason={reason}")
        return [event["message"] for event in found]

    def describe(self) -> str:
        where = f"--namespace={self.namespace}"
        return "\n".join([
            f"--- namespace {self.namespace}",
            kubectl("get", where, "pods,jobs,resourceclaims", "-o", "wide", check=False),
            kubectl("describe", where, "pods", check=False),
            kubectl("get", where, "resourceclaims", "-o", "yaml", check=False),
            kubectl("get", "resourceslices", check=False),
        ])

    def wait_health(self, pod: str, health: str, seconds: float = 20) -> tuple[str, dict]:
        """Waits until the kubelet reports this health; returns the claim's name in the pod's status, and its only device."""
        def probe():
            status = self.get("pods", pod)["status"]["containerStatuses"][0]
            [resource] = status["allocatedResourcesStatus"]
            [device] = resource["resources"]
            assert device["health"] == health, status["allocatedResourcesStatus"]
            return resource["name"], device
        return until(probe, f"the kubelet reports {health}", seconds)
