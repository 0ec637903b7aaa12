"""A GPU and a network device next to each other: two drivers of one host, compared by where their functions are on the PCIe bus."""

from pathlib import Path

import pytest

from edited_manifests import more_modules
from mock import CLASS as GPU_CLASS
from mock import DRIVER as GPU_DRIVER
from mock import claim, request, use
from scene import container, pod
from waiting import until

NIC_DRIVER = NIC_CLASS = "nic.cardcage.dev"
ROOT = Path("/run/pci")
ROOT_ATTRIBUTE, SWITCH_ATTRIBUTE = "resource.kubernetes.io/pcieRoot", "cardcage.dev/pcieSwitch"
MODULE = f"""
[[module]]
name = "nic"
path = "libcardcage_nic.so"
[[module.serve]]
driver = "{NIC_DRIVER}"
"""
# Lines for the patch at the end of kustomization.yaml.
MOUNT = f"""\
      - {{op: add, path: /spec/template/spec/volumes/-, value: {{name: pci, hostPath: {{path: {ROOT}}}}}}}
      - {{op: add, path: /spec/template/spec/containers/0/volumeMounts/-, value: {{name: pci, mountPath: {ROOT}}}}}
"""


def plug(address: str, path: str, network: bool = False) -> None:
    """A function in a described sysfs: path is below the root complex, such as pci0000:40/0000:40:01.0."""
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
def machine(cluster, daemon, tmp_path_factory):
    """Two root complexes with a switch each; below a switch are a GPU of the mock and a card. A third card is on a root port of the first."""
    gpus = {device["name"]: device["attributes"]["resource.kubernetes.io/pciBusID"]["string"] for device in daemon.devices(GPU_DRIVER)}
    for number, (gpu, nic) in enumerate({"gpu-0": "0000:43:00.0", "gpu-1": "0000:83:00.0"}.items()):
        bus = (0x40, 0x80)[number]
        switch = f"pci0000:{bus:02x}/0000:{bus:02x}:01.0/0000:{bus + 1:02x}:00.0/0000:{bus + 2:02x}"
        plug(gpus[gpu], f"{switch}:00.0")
        plug(nic, f"{switch}:04.0", network=True)
    plug("0000:48:00.0", "pci0000:40/0000:40:02.0", network=True)
    (ROOT / "sys/class/net").mkdir(parents=True)
    with more_modules(cluster, daemon, tmp_path_factory.mktemp("aligned"), MODULE, MOUNT, drivers=(NIC_DRIVER,),
                      node=f'sysfs_root = "{ROOT}/sys"\n'):
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
