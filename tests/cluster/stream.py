"""A stream of new pods while a test changes their node."""

import threading

from api import Api
from mock import use
from resources import COUNTS, kind_of
from scene import Scene, container, pod
from waiting import until

CLAIMABLE = 24  # devices of the driver, see values.yaml


class Stream:
    """Creates a pod every `every` seconds while the context is open. Each pod checks that it has its one device, and ends.

    The device comes from `resource`, or from a claim made from `template` for a device of `kind`. At most half of the devices
    are asked for at a time, so no pod waits for one: on a slow machine pods that wait pile up, and the scheduler places a pod
    with a resource as soon as it sees that another has ended, while the kubelet may still count that one, and rejects the pod.
    """

    def __init__(self, scene: Scene, resource: str = "", template: str = "", kind: str = "", every: float = 0.25):
        self.scene, self.every = scene, every
        self.most = (COUNTS[resource] if resource else CLAIMABLE) // 2
        kind = kind or kind_of(resource)
        look = f"env | grep ^MOCK_{kind.upper()}_ && ls /dev/mock/ | grep ^{kind}-"
        of_claim = {"claims": [{"name": "device"}]} if template else {"limits": {resource: 1}}
        self.containers = [container(command=look, **of_claim)]
        self.claims = [use("device", template=template)] if template else []
        self.prefix = f"stream-{kind}"
        self.names: list[str] = []
        self.ended = threading.Event()
        self.failure: Exception | None = None
        self.thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Stream":
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.ended.set()
        self.thread.join()

    def _run(self) -> None:
        api = Api()  # a connection belongs to one thread
        try:
            while not self.ended.wait(self.every):
                if not self._has_room(api):
                    continue
                name = f"{self.prefix}-{len(self.names):03}"
                self._create(api, pod(name, self.containers, self.claims, restartPolicy="OnFailure"))
                self.names.append(name)
        except Exception as error:
            self.failure = error

    def _has_room(self, api: Api) -> bool:
        path, running = self.scene.path("pods"), "status.phase!=Succeeded,status.phase!=Failed"
        [pods] = until(lambda: [api.items(path, fieldSelector=running)], "the running pods are listed", 60)
        return sum(pod["metadata"]["name"].startswith(self.prefix) for pod in pods) < self.most

    def _create(self, api: Api, new: dict) -> None:
        """The API server may be away, or may have created the pod without a response."""
        def probe():
            status, response = api.request("POST", self.scene.path("pods"), new)
            assert status in (201, 409), f"{status} {response.decode(errors='replace')}"
            return True
        until(probe, f"pod {new['metadata']['name']} is created", 60)

    def finished(self, seconds: float = 90) -> list[dict]:
        """Waits until all pods have ended, and returns them."""
        assert not self.failure, f"the stream of pods stopped: {self.failure}"
        assert len(self.names) > 3, "too few pods for a conclusion"

        def ended():
            pods = [found for found in self.scene.items("pods") if found["metadata"]["name"] in self.names]
            waiting = {found["metadata"]["name"]: found["status"] for found in pods
                       if found["status"].get("phase") not in ("Succeeded", "Failed")}
            assert len(pods) == len(self.names) and not waiting, f"of {len(pods)} pods these have not ended: {waiting}"
            return pods
        return until(ended, "all pods have ended", seconds)


def complaint(status: dict) -> str:
    """Returns why a pod failed at first, or an empty text. A kubelet that is stopped cancels the start of a container
    (reason StartError, "context canceled") and the next kubelet starts it again; Cardcage has no part in that."""
    if status["phase"] == "Failed":
        return f"{status.get('reason')}: {status.get('message')}"
    ends = [state["terminated"] for found in status.get("containerStatuses", [])
            for state in [found.get("lastState", {})] if "terminated" in state]
    return "; ".join(f"{end.get('reason')}: {end.get('message')}" for end in ends
                     if not (end.get("reason") == "StartError" and "context canceled" in end.get("message", "")))
