"""Pods that did not succeed, and why."""

import datetime
from dataclasses import dataclass

from chaos import Chaos
from scene import Scene
from stream import Stream, complaint

REJECTED = "UnexpectedAdmissionError"


@dataclass
class Loss:
    """A pod that did not succeed."""
    moment: float  # the beginning of the second (time.time)
    complaint: str
    rejected: bool  # by the kubelet, before a container started

    def rejected_in(self, chaos: Chaos) -> bool:
        return self.rejected and chaos.outage(self.moment) is not None


def seconds(timestamp: str) -> float:
    return datetime.datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()


def loss_of(pod: dict, rejections: list[dict]) -> Loss | None:
    """The loss of a pod that has ended, from its status and the Events of its rejection; None if it succeeded.

    A kubelet that starts may rewrite the status of a rejected pod without a reason. The Event has the reason then, and the
    time: a kubelet that starts also rejects pods that an earlier one had admitted, and they keep the time of their start. An Event
    may get lost. A pod that failed without a reason counts as rejected, too: no container of a stream makes its pod fail.
    """
    status = pod["status"]
    text = complaint(status)
    if not text:
        return None
    reason = status.get("reason")
    if status["phase"] == "Failed" and not reason:
        messages = [event.get("message") for event in rejections]
        text = f"{REJECTED}: {messages[-1]}" if messages else "failed without a reason, which a restarted kubelet erased, and without an Event"
    times = [event["lastTimestamp"] for event in rejections if event.get("lastTimestamp")]
    moment = max(times, default=status.get("startTime") or pod["metadata"]["creationTimestamp"])
    return Loss(seconds(moment), f"{pod['metadata']['name']}: {text}", status["phase"] == "Failed" and reason in (None, "", REJECTED))


def losses(scene: Scene, stream: Stream, wait: float = 90) -> list[Loss]:
    """The losses of a stream, once all of its pods have ended: within `wait` seconds."""
    def rejections(pod: dict) -> list[dict]:
        return scene.items("events", fieldSelector=f"involvedObject.name={pod['metadata']['name']},reason={REJECTED}")

    lost = (loss_of(pod, rejections(pod)) for pod in stream.finished(wait) if complaint(pod["status"]))
    return [loss for loss in lost if loss]
