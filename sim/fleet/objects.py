"""The objects of a simulated fleet as an API server shows them: ResourceSlices, ResourceClaims, DeviceTaintRules, Events.

All values derive from names and numbers, so two runs with the same arguments make the same fleet.
"""

import uuid
from dataclasses import dataclass

API = "resource.k8s.io/v1"
CORDONED = "Cordoned"  # the value of a taint by which Cardcage keeps new pods away
SPACE = uuid.UUID("c4bdca6e-0f2b-4a6e-9d0e-6f1f35a2b7c1")


@dataclass(frozen=True)
class Fault:
    cause: str  # the value of the taint
    text: str  # for the Event
    effect: str


XID = Fault("XidError", "XID 79: the GPU has fallen off the bus", "NoExecute")
ECC = Fault("EccUncorrectable", "3 uncorrectable memory errors", "NoSchedule")
THERMAL = Fault("Thermal", "clocks are throttled at 92 degrees", "NoSchedule")
LINK = Fault("LinkDown", "the port has lost its carrier", "NoSchedule")
PORT = Fault("PortError", "the port reports a malformed request", "NoExecute")


@dataclass(frozen=True)
class Kind:
    """A driver and its devices: `models` alternate from node to node."""
    driver: str
    prefix: str
    label: str  # the attribute that names the model
    models: tuple[str, ...]
    memory: str
    faults: tuple[Fault, ...]


KINDS = (
    Kind("gpu.nvidia.com", "gpu", "productName", ("NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA A100-SXM4-80GB"), "80Gi",
         (XID, XID, ECC, THERMAL)),
    Kind("npu.acme.dev", "npu", "model", ("Acme A1", "Acme A2"), "32Gi", (ECC, THERMAL)),
    Kind("nic.cardcage.dev", "nic", "productName", ("ConnectX-7",), "0", (LINK,)),
    Kind("fpga.cardcage.dev", "fpga", "productName", ("Alveo U250", "PAC N3000"), "64Gi", (PORT, THERMAL)),
)


def uid(name: str) -> str:
    return str(uuid.uuid5(SPACE, name))


def node_name(number: int) -> str:
    """A rack has eight nodes."""
    return f"rack{number // 8 + 1:03d}-node{number % 8 + 1}"


def slice_name(kind: Kind, node: str) -> str:
    return f"00000-{kind.driver}-{node}"


def _attributes(kind: Kind, node: int, device: int) -> dict:
    """28 attributes, a usual number for a GPU; with the capacities they stay below the limit of 32."""
    model = kind.models[node % len(kind.models)]
    bus = 0x10 + device * 0x11
    values = {
        kind.label: {"string": model},
        "type": {"string": kind.prefix},
        "uuid": {"string": uid(f"{kind.driver}/{node}/{device}")},
        "serial": {"string": f"{node:06d}{device:02d}"},
        "driverVersion": {"version": "580.65.6"},
        "firmware": {"version": f"1.{node % 3}.0"},
        "index": {"int": device},
        "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{bus:02x}"},
        "resource.kubernetes.io/pciBusID": {"string": f"0000:{bus + 1:02x}:00.0"},
        "resource.kubernetes.io/numaNode": {"int": device // 4},
        "sharing": {"bool": False},
    }
    for link in range(28 - len(values)):
        values[f"link{link:02d}"] = {"string": f"peer {link % 8}, 25 GB/s"}
    return values


def device(kind: Kind, node: int, number: int) -> dict:
    capacity = {"memory": {"value": kind.memory}} if kind.memory != "0" else {"bandwidth": {"value": "400G"}}
    return {"name": f"{kind.prefix}-{number}", "attributes": _attributes(kind, node, number), "capacity": capacity}


def resource_slice(kind: Kind, node: int, devices: int) -> dict:
    name = node_name(node)
    return {
        "apiVersion": API, "kind": "ResourceSlice",
        "metadata": {
            "name": slice_name(kind, name), "uid": uid(slice_name(kind, name)), "generation": 1,
            "creationTimestamp": "2030-01-01T00:00:00Z",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid(name), "controller": True}]},
        "spec": {
            "driver": kind.driver, "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [device(kind, node, number) for number in range(devices)]}}


def claim(name: str, namespace: str, driver: str, node: str, device_names: list[str], time: str) -> dict:
    pod = f"{name}-pod"
    return {
        "apiVersion": API, "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": uid(f"{namespace}/{name}"), "creationTimestamp": time,
                     "annotations": {"resource.kubernetes.io/pod-claim-name": "device"}},
        "spec": {"devices": {"requests": [
            {"name": "device", "exactly": {"deviceClassName": driver,
              "allocationMode": "ExactCount", "count": len(device_names)}}]}},
        "status": {
            "allocation": {
                "devices": {"results": [{"request": "device", "driver": driver, "pool": node, "device": device}
                                        for device in device_names]},
                "nodeSelector": {"nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]}},
            "reservedFor": [{"resource": "pods", "name": pod, "uid": uid(f"{namespace}/{pod}")}]}}


def taint(driver: str, cause: str, effect: str, time: str) -> dict:
    return {"key": f"{driver}/unhealthy", "value": cause, "effect": effect, "timeAdded": time}


def taint_rule(name: str, driver: str, pool: str, device_name: str, time: str) -> dict:
    """Cordons a device, as an administrator would."""
    return {
        "apiVersion": API, "kind": "DeviceTaintRule",
        "metadata": {"name": name, "uid": uid(name), "creationTimestamp": time},
        "spec": {"deviceSelector": {"driver": driver, "pool": pool, "device": device_name},
                 "taint": {"key": "example.com/maintenance", "value": CORDONED, "effect": "NoSchedule",
                   "timeAdded": time}}}


def event(name: str, node: str, reason: str, note: str, warning: bool, time: str) -> dict:
    return {
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": name, "namespace": "default", "uid": uid(name), "creationTimestamp": time},
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": node, "uid": node},
        "type": "Warning" if warning else "Normal", "reason": reason, "message": note,
        "source": {"component": "cardcage", "host": node},
        "reportingComponent": "cardcage.dev/cardcage", "reportingInstance": node,
        "firstTimestamp": time, "lastTimestamp": time, "count": 1}
