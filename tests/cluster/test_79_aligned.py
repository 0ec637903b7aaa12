"""Cards on a simulated PCIe bus: a GPU and a network device next to each other, from two drivers of one host; RDMA."""

import os
import stat
from pathlib import Path

import pytest

from changed_release import changed_release, class_of
from kubectl import apply, kubectl
from mock import CLASS as GPU_CLASS
from mock import DRIVER as GPU_DRIVER
from mock import claim, request, use
from node import LOCKED_MEMORY_MIB
from node import may_lower_oom_score as may_raise_limits  # the same capability
from scene import container, pod
from waiting import until

NIC_DRIVER = NIC_CLASS = "nic.cardcage.dev"
ROOT = Path("/run/pci")
RDMA_CARD = "0000:48:00.0"
NODE = Path("/dev/infiniband/uverbs0")
ROOT_ATTRIBUTE, SWITCH_ATTRIBUTE = "resource.kubernetes.io/pcieRoot", "cardcage.dev/pcieSwitch"
RELEASE = {
    "config": {"node": {"sysfs_root": f"{ROOT}/sys"}},
    "modules": {"nic": {"enabled": True, "attributes": [{"name": "example.com/rail", "value": 3, "select": {"pci": RDMA_CARD}}]}},
    "extraVolumes": [{"name": "pci", "hostPath": {"path": str(ROOT)}}],
    "extraVolumeMounts": [{"name": "pci", "mountPath": str(ROOT)}]}


def plug(address: str, path: str, network: bool = False) -> None:
    """A function in a simulated sysfs: path is below the root complex, such as pci0000:40/0000:40:01.0."""
    folder = ROOT / "sys/devices" / path / address
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "class").write_text("0x020000\n" if network else "0x030200\n")
    (folder / "vendor").write_text("0x15b3\n")
    (folder / "device").write_text("0x101e\n")
    link = ROOT / "sys/bus/pci/devices" / address
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(f"../../../devices/{path}/{address}")


@pytest.fixture(scope="module")
def machine(cluster, daemon):
    """Two root complexes with a switch each; below a switch are a GPU of the mock and a card. A third card is on a root port of the first."""
    gpus = {device["name"]: device["attributes"]["resource.kubernetes.io/pciBusID"]["string"] for device in daemon.devices(GPU_DRIVER)}
    for number, (gpu, nic) in enumerate({"gpu-0": "0000:43:00.0", "gpu-1": "0000:83:00.0"}.items()):
        bus = (0x40, 0x80)[number]
        switch = f"pci0000:{bus:02x}/0000:{bus:02x}:01.0/0000:{bus + 1:02x}:00.0/0000:{bus + 2:02x}"
        plug(gpus[gpu], f"{switch}:00.0")
        plug(nic, f"{switch}:04.0", network=True)
    plug(RDMA_CARD, "pci0000:40/0000:40:02.0", network=True)
    (ROOT / "sys/bus/pci/devices" / RDMA_CARD / "infiniband/mlx5_0").mkdir(parents=True)
    verbs = ROOT / "sys/class/infiniband_verbs/uverbs0"
    verbs.mkdir(parents=True)
    (verbs / "ibdev").write_text("mlx5_0\n")
    (ROOT / "sys/class/net").mkdir(parents=True)
    with changed_release(cluster, daemon, RELEASE):
        until(lambda: len(daemon.devices(NIC_DRIVER)) == 3, "the cards are published", 20)
        yield


def pair(name: str, attribute: str) -> dict:
    made = claim(name, request("gpu", device_class=GPU_CLASS), request("nic", device_class=NIC_CLASS))
    made["spec"]["devices"]["constraints"] = [{"matchAttribute": attribute, "requests": ["gpu", "nic"]}]
    return made


def user(name: str) -> dict:
    return pod(name, [container(claims=[{"name": "pair"}])], [use("pair", claim=name)])


def allocated(scene, name: str) -> dict[str, str]:
    """The device of each request."""
    results = scene.get("resourceclaims", name)["status"]["allocation"]["devices"]["results"]
    return {result["request"]: result["device"] for result in results}


def place(daemon, driver: str, name: str, attribute: str) -> str | None:
    [device] = [device for device in daemon.devices(driver) if device["name"] == name]
    return device["attributes"].get(attribute, {}).get("string")


@pytest.mark.parametrize("attribute", [ROOT_ATTRIBUTE, SWITCH_ATTRIBUTE])
def test_a_gpu_comes_with_the_card_next_to_it(scene, daemon, machine, attribute):
    scene.apply(pair("first", attribute), pair("second", attribute), user("first"), user("second"))
    scene.wait_running("first", "second")
    found = [allocated(scene, name) for name in ("first", "second")]
    for one in found:
        at = place(daemon, GPU_DRIVER, one["gpu"], attribute)
        assert at and at == place(daemon, NIC_DRIVER, one["nic"], attribute), found
    assert {one["gpu"] for one in found} == {"gpu-0", "gpu-1"}, "no other GPU has a place"
    environment = scene.execute("first", "env")
    nic = found[0]["nic"]
    assert f"{nic.upper().replace('-', '_')}=" in environment, environment


def test_a_card_on_a_root_port_has_no_switch(daemon, machine):
    name = "nic-0000-48-00-0"
    assert place(daemon, NIC_DRIVER, name, ROOT_ATTRIBUTE) == "pci0000:40"
    assert place(daemon, NIC_DRIVER, name, SWITCH_ATTRIBUTE) is None


@pytest.fixture
def verbs_node():
    """Makes a node that reads as empty, in place of the card driver's node."""
    NODE.parent.mkdir(exist_ok=True)
    os.mknod(NODE, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    yield
    NODE.unlink()
    NODE.parent.rmdir()


def test_example(scene, daemon, machine, verbs_node):
    """Here the class of NVIDIA's GPUs selects the mock's. The container may lock any amount of memory, where root can allow it."""
    apply(class_of(GPU_DRIVER, "gpu.nvidia.com"))
    running = ["gpu-with-nic"] if may_raise_limits() else []
    try:
        with scene.example("gpu-with-nic.yaml", *running):
            [made] = until(lambda: scene.items("resourceclaims"), "the pod's claim is made", 10)
            name = made["metadata"]["name"]
            until(lambda: scene.get("resourceclaims", name).get("status", {}).get("allocation"), "the claim is allocated", 20)
            assert allocated(scene, name) == {"gpu": "gpu-0", "nic": "nic-0000-48-00-0"}
            if running:
                scene.wait_log("gpu-with-nic", f"^{NODE}$")
            else:
                until(lambda: scene.events("Failed", "gpu-with-nic"), "the event that says which limit cannot be raised", 30)
    finally:
        kubectl("delete", "deviceclass", "gpu.nvidia.com")


def test_a_container_with_rdma_may_lock_memory(scene, daemon, machine, verbs_node):
    """The runtime lets containers lock less, and CDI has no field for it."""
    wanted = LOCKED_MEMORY_MIB + 2
    made = claim("rdma", request("nic", device_class=NIC_CLASS, cel=f"device.attributes['{NIC_DRIVER}'].rdma"))
    made["spec"]["devices"]["config"] = [{"opaque": {"driver": NIC_DRIVER, "parameters": {
        "apiVersion": "nic.cardcage.dev/v1alpha1", "kind": "NicConfig", "mode": "Rdma", "lockedMemoryMiB": wanted}}}]
    scene.apply(made, pod("rdma", [container(claims=[{"name": "nic"}]), container("other")], [use("nic", claim="rdma")]))
    scene.wait_running("rdma")

    def locked(name: str) -> str:
        [line] = [line for line in scene.execute("rdma", "cat", "/proc/1/limits", container=name).splitlines() if "locked memory" in line]
        return line.split()[3]

    assert scene.execute("rdma", "ls", str(NODE), container="main").strip() == str(NODE)
    assert locked("main") == str(wanted << 20)
    assert locked("other") == str(LOCKED_MEMORY_MIB << 20), "it has no such device"


def test_a_container_does_not_start_without_the_memory_that_its_device_needs(scene, daemon, machine, verbs_node):
    if may_raise_limits():
        pytest.skip("root can raise the hard limit here, so nothing fails")
    made = claim("too-much", request("nic", device_class=NIC_CLASS, cel=f"device.attributes['{NIC_DRIVER}'].rdma"))
    made["spec"]["devices"]["config"] = [{"opaque": {"driver": NIC_DRIVER, "parameters": {
        "apiVersion": "nic.cardcage.dev/v1alpha1", "kind": "NicConfig", "mode": "Rdma", "lockedMemoryMiB": 1 << 20}}}]
    scene.apply(made, pod("too-much", [container(claims=[{"name": "nic"}])], [use("nic", claim="too-much")]))
    [text, *_] = until(lambda: scene.events("Failed", "too-much"), "the event about the container", 30)
    assert "the container runtime may not raise that limit" in text, text


def test_the_operator_gives_a_card_an_attribute(daemon, machine):
    rails = {device["name"]: device["attributes"].get("example.com/rail") for device in daemon.devices(NIC_DRIVER)}
    assert rails == {"nic-0000-43-00-0": None, "nic-0000-83-00-0": None, "nic-0000-48-00-0": {"int": 3}}, rails
