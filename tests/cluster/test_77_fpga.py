"""FPGAs (docs/fpga.md): the module on a node with three cards, which a fake kernel simulates (sim/fpga)."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from changed_release import changed_release
from daemon import STATE, build_folder
from kubectl import kubectl
from mock import allocated, claim, request, sees, use
from programs import Program
from resources import wait_allocatable
from scene import container, pod
from waiting import until

DRIVER = CLASS = "fpga.cardcage.dev"
RESOURCE = "fpga.cardcage.dev/nlb"  # the port of the D5005, through the device-plugin API
ROOT = Path("/run/fpga")
CATALOGUE = STATE / "bitstreams"
MODULES = Path("/etc/cardcage/of-image")  # in the place of the image's, so that a test can replace the file of a running module
MODULE_FILE = MODULES / "libcardcage_fpga.so"

N3000, FOUR_PORTS, D5005 = "0000:3b:00.0", "0000:5e:00.0", "0000:af:00.0"
N3000_INTERFACE, FOUR_PORTS_INTERFACE = "a5d72a3cc8b04939912cf715e5dc10ca", "69528db6eb31577a8c3668f9faa081f6"
NLB0, NLB3, N3000_AFU = "d8424dc4a4a3c413f89e433683f9040b", "f7df405cbd7acf7222f144b0b93acd18", "9aeffe5f84570612c000c9660d824272"
AES, GZIP = "ae5ae5ae" * 4, "621b621b" * 4  # the functions of bitstreams in the catalogue
AT_FIRST = {(N3000, 0): N3000_AFU, **{(FOUR_PORTS, number): NLB3 if number % 2 else NLB0 for number in range(4)}}

RELEASE = {
    "config": {"node": {"sysfs_root": f"{ROOT}/sys", "devfs_root": f"{ROOT}/dev"}},
    "modules": {"fpga": {
        "enabled": True, "options": {"health_interval": "1s"},
        "writes": [f"{ROOT}/dev/dfl-fme.*", f"{ROOT}/dev/dfl-port.*", f"{CATALOGUE}/*", f"{ROOT}/sys/bus/pci/devices/*/fpga_region/*/*/errors/*"],
        "resources": [{"resource": RESOURCE, "select": {"attributes": {"afuId": NLB0, "model": "D5005"}}}]}},
    "extraVolumes": [{"name": name, "hostPath": {"path": str(path)}} for name, path in (("fpga", ROOT), ("modules", MODULES))],
    "extraVolumeMounts": [{"name": "fpga", "mountPath": str(ROOT)}, {"name": "modules", "mountPath": "/usr/lib/cardcage/modules"}]}


def of(name: str) -> str:
    return f"device.attributes['{DRIVER}'].{name}"


def fake(*words: str) -> str:
    """Queries or changes the fake cards: fake("afu", N3000, "0", NLB0)."""
    return subprocess.run([build_folder() / "bin/fake-fpga", ROOT, *words], text=True, stdout=subprocess.PIPE, check=True).stdout


def name_of(card: str, number: int = 0) -> str:
    return f"fpga-{card.replace(':', '-').replace('.', '-')}-p{number}"


def port(card: str, number: int = 0) -> Path:
    """The folder in sysfs, named like the node."""
    files = (ROOT / "sys/bus/pci/devices" / card).glob("fpga_region/*/dfl-port.*/id")
    [folder] = [file.parent for file in files if int(file.read_text()) == number]
    return folder


def loaded() -> dict[tuple[str, int], str]:
    """The functions that the cards have."""
    return {(card, number): (port(card, number) / "afu_id").read_text().strip() for card, number in AT_FIRST}


def done(what: str) -> list[str]:
    """The changes of the hardware: done("FME_PORT_PR")."""
    return [line for line in fake("log").splitlines() if line.startswith("ioctl ") and line.endswith(what)]


def published(daemon) -> dict[str, dict]:
    """The devices by name, and the plain values of their attributes."""
    return {device["name"]: {**device, "attributes": {name: next(iter(value.values())) for name, value in device["attributes"].items()}}
            for device in daemon.devices(DRIVER)}


def wait_published(daemon, functions: dict[tuple[str, int], str]) -> None:
    def probe():
        seen = {place: published(daemon)[name_of(*place)]["attributes"].get("afuId") for place in functions}
        assert seen == functions, seen
        return True
    until(probe, f"the slice has {functions}", 20)


def approve(name: str, function: str, interface: str = N3000_INTERFACE, sha256: str = "") -> None:
    """Puts a bitstream into the node's catalogue."""
    file = CATALOGUE / f"{name}.gbs"
    subprocess.run([build_folder() / "bin/fake-fpga", "bitstream", file, interface, function], check=True)
    sha256 = sha256 or hashlib.sha256(file.read_bytes()).hexdigest()
    file.with_suffix(".toml").write_text(f'file = "{file.name}"\nsha256 = "{sha256}"\n')


@pytest.fixture(scope="module")
def served():
    """The cards, below ROOT."""
    if not Path("/dev/fuse").exists():
        pytest.skip("this machine has no /dev/fuse, by which the fake cards are mounted")
    # Containers can open every node of a card: it is /dev/null.
    cards = (f"n3000@{N3000}", f"four-ports@{FOUR_PORTS}", f"d5005@{D5005}")
    kernel = Program(str(build_folder() / "bin/fake-fpga"), "serve", str(ROOT), "--node-number", "1:3", *cards).start()
    try:
        until(lambda: kernel.check() or (ROOT / "sys/bus/pci/devices").exists(), "the fake cards are mounted", 10)
        yield
    finally:
        kernel.stop()


@pytest.fixture(scope="module")
def module(cluster, daemon, served):
    """The daemon with a module for the fake cards. The shipped daemon is restored afterwards."""
    CATALOGUE.mkdir()
    (MODULES / "vendor").mkdir(parents=True)
    for file in (MODULE_FILE.name, "libcardcage_mock.so"):
        shutil.copy(build_folder() / "lib/cardcage/modules" / file, MODULES)
    with changed_release(cluster, daemon, RELEASE):
        wait_allocatable(cluster.api, {RESOURCE: 1})
        yield


@pytest.fixture
def cards(daemon, module):
    """Waits until no claim holds a card, and each has its first function."""
    wait_released(daemon)
    for (card, number), function in AT_FIRST.items():
        fake("afu", card, str(number), function)
        fake("set-error", card, str(number), "0")
    wait_published(daemon, AT_FIRST)
    for file in CATALOGUE.iterdir():
        file.unlink()
    fake("clear-log")
    yield
    fake("release")


def taints(daemon, card: str, number: int = 0) -> list[str]:
    return [taint["key"] for taint in published(daemon)[name_of(card, number)].get("taints", [])]


def wait_released(daemon) -> None:
    until(lambda: not [each for each in json.loads(daemon.cagectl("claims", "--json")) if each["driver"].startswith(DRIVER)], "all cards are released", 90)


def fpga_claim(name: str, cel: str, bitstream: str = "") -> dict:
    made = claim(name, request("fpga", cel=cel, device_class=CLASS))
    if bitstream:
        made["spec"]["devices"]["config"] = [{"opaque": {"driver": DRIVER, "parameters": {
            "apiVersion": f"{DRIVER}/v1alpha1", "kind": "FpgaConfig", "bitstream": bitstream}}}]
    return made


def programmed(name: str, bitstream: str, interface: str = N3000_INTERFACE, more: str = "true") -> dict:
    return fpga_claim(name, f"{of('programmable')} && {of('type')} == 'port' && {of('interfaceId')} == '{interface}' && {more}", bitstream)


def user(name: str, claimed: str) -> dict:
    return pod(name, [container(claims=[{"name": "fpga"}])], [use("fpga", claim=claimed)])


def retry(scene, name: str = "user") -> None:
    """Changes the pod so that the kubelet retries it; otherwise the kubelet would wait for a minute or two."""
    kubectl("annotate", f"--namespace={scene.namespace}", "--overwrite", "pod", name, "retry=now")


def given(scene, name: str) -> tuple[dict[str, str], set[str]]:
    """The FPGA's device nodes and variables in a container."""
    seen = sees(scene, name)
    return ({path: numbers for path, numbers in seen["nodes"].items() if "dfl" in path},
            {line for line in seen["env"] if line.startswith("FPGA_0")})


def variable(function: str, card: str, number: int = 0) -> str:
    return f"{name_of(card, number).upper().replace('-', '_')}={function}"


def start_of(scene, name: str) -> tuple:
    """Changes if the container restarts."""
    status = scene.get("pods", name)["status"]["containerStatuses"][0]
    return status["containerID"], status["restartCount"]


def workers(daemon) -> list[int]:
    """The processes with the module."""
    return [pid for pid in daemon.process_ids("cardcage-worker") if MODULE_FILE.name in Path(f"/proc/{pid}/maps").read_text()]


def hold_programming(scene, *objects: dict) -> None:
    """Applies objects that start to program a card, which lasts until fake("release")."""
    fake("hold")
    scene.apply(*objects)
    until(lambda: fake("programming") == "1\n", "a card is being programmed", 30)


def test_pod_gets_a_function_that_is_loaded(scene, daemon, cards):
    attributes = published(daemon)[name_of(N3000)]["attributes"]
    assert attributes.items() >= {"type": "port", "model": "N3000", "card": N3000, "portId": 0, "programmable": True,
                                  "interfaceId": N3000_INTERFACE, "resource.kubernetes.io/pciBusID": N3000}.items()
    scene.apply(fpga_claim("loaded", f"{of('?afuId')}.orValue('') == '{N3000_AFU}'"), user("user", "loaded"))
    scene.wait_running("user")
    node = f"/dev/{port(N3000).name}"
    assert given(scene, "user") == ({node: "1:3"}, {variable(N3000_AFU, N3000)})
    scene.execute("user", "sh", "-c", f"echo text > {node}")
    assert not done("FME_PORT_PR")


def test_claim_programs_a_card(scene, daemon, cards):
    approve("aes", AES)
    scene.apply(programmed("aes", "aes"), user("user", "aes"))
    scene.wait_running("user")
    assert loaded() == AT_FIRST | {(N3000, 0): AES}
    wait_published(daemon, {(N3000, 0): AES})
    assert given(scene, "user") == ({f"/dev/{port(N3000).name}": "1:3"}, {variable(AES, N3000)})
    assert len(done("FME_PORT_PR")) == 1


def test_example(scene, daemon, cards):
    approve("nlb0", NLB0)
    with scene.example("fpga-bitstream.yaml", "fpga"):
        scene.wait_log("fpga", r"^/dev/dfl-port\.\d+$")
        scene.wait_log("fpga", r"^FPGA_")
        assert loaded() == AT_FIRST | {(N3000, 0): NLB0}


def test_two_pods_program_two_regions_of_a_card(scene, daemon, cards):
    wanted = {"aes": AES, "gzip": GZIP}
    for name, function in wanted.items():
        approve(name, function, FOUR_PORTS_INTERFACE)
    scene.apply(*(programmed(name, name, FOUR_PORTS_INTERFACE) for name in wanted), *(user(name, name) for name in wanted))
    scene.wait_running(*wanted)
    places = {}
    for name, function in wanted.items():
        [device] = allocated(scene.get("resourceclaims", name))
        place = (FOUR_PORTS, int(device[-1]))
        assert device == name_of(*place)
        assert given(scene, name) == ({f"/dev/{port(*place).name}": "1:3"}, {variable(function, *place)})
        places[place] = function
    assert len(places) == 2 and loaded() == AT_FIRST | places
    wait_published(daemon, AT_FIRST | places)


def refused(scene) -> str:
    """The text of the pod's event. The card was not programmed, and is unchanged."""
    [text, *_] = until(lambda: scene.events("FailedPrepareDynamicResources", "user"), "the event about the claim", 30)
    assert not done("FME_PORT_PR") and loaded() == AT_FIRST, text
    return text


def test_bitstream_for_another_card_is_refused(scene, daemon, cards):
    approve("aes", AES, FOUR_PORTS_INTERFACE)
    scene.apply(programmed("wrong", "aes"), user("user", "wrong"))
    text = refused(scene)
    assert "bitstream 'aes'" in text and N3000 in text and FOUR_PORTS_INTERFACE in text and N3000_INTERFACE in text, text
    assert "build it for this shell" in text, text
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")
    scene.apply(programmed("right", "aes", FOUR_PORTS_INTERFACE, f"{of('portId')} == 2"), user("user", "right"))
    scene.wait_running("user")
    assert loaded() == AT_FIRST | {(FOUR_PORTS, 2): AES}


def test_bitstream_that_was_changed_is_refused(scene, daemon, cards):
    approve("aes", AES, sha256="0" * 64)
    scene.apply(programmed("aes", "aes"), user("user", "aes"))
    text = refused(scene)
    assert "aes.gbs" in text and "0" * 64 in text and "SHA-256" in text, text
    assert "taints" not in published(daemon)[name_of(N3000)]
    approve("aes", AES)
    retry(scene)
    scene.wait_running("user")
    assert loaded() == AT_FIRST | {(N3000, 0): AES}


def test_bitstream_that_is_not_there_is_refused(scene, daemon, cards):
    approve("aes-128", AES)
    scene.apply(programmed("aes", "aes-256"), user("user", "aes"))
    text = refused(scene)
    assert "no bitstream 'aes-256'" in text and str(CATALOGUE) in text and "aes-128" in text, text
    approve("aes-256", AES)
    retry(scene)
    scene.wait_running("user")
    assert loaded() == AT_FIRST | {(N3000, 0): AES}


@pytest.fixture
def neighbour(scene, cards):
    """A pod on another region of the card. It must not notice changes of the other regions."""
    mine = f"{of('type')} == 'port' && {of('card')} == '{FOUR_PORTS}' && {of('portId')} == 3"
    scene.apply(fpga_claim("neighbour", mine), user("neighbour", "neighbour"))
    scene.wait_running("neighbour")
    before = start_of(scene, "neighbour")
    node = port(FOUR_PORTS, 3).name
    fake("clear-log")
    yield
    assert start_of(scene, "neighbour") == before and scene.get("pods", "neighbour")["status"]["phase"] == "Running"
    assert not [line for line in fake("log").splitlines() if f" {node} " in line], "its port was touched"


def test_health_in_the_pod_status(scene, daemon, cards):
    """The status of a running pod shows errors of its port and their end, and new pods avoid it meanwhile. Heat is only reported."""
    scene.apply(fpga_claim("one", f"{of('type')} == 'port' && {of('card')} == '{N3000}'"), user("user", "one"))
    scene.wait_running("user")
    scene.wait_health("user", "Healthy")
    device, daemons, processes = name_of(N3000), daemon.process_ids(), workers(daemon)

    fake("set-error", N3000, "0", "0x1")
    _, seen = scene.wait_health("user", "Unhealthy")
    assert seen["message"].startswith("PortErrors: "), seen
    until(lambda: f"{DRIVER}/port-errors" in taints(daemon, N3000), "a taint on the port", 5)
    until(lambda: daemon.node_events("DeviceUnhealthy", device), "an Event on the node", 10)
    assert daemon.metric("cardcage_device_cause", device=device, cause="PortErrors") == 1
    fake("set-error", N3000, "0", "0")
    scene.wait_health("user", "Healthy")
    until(lambda: not taints(daemon, N3000), "the taint is gone", 5)
    until(lambda: daemon.node_events("DeviceHealthy", device), "the Event of its end", 10)

    fake("sensor", N3000, "dfl_fme_thermal", "temp1_input", "92000")
    try:
        until(lambda: daemon.live_causes(device), "the port's card is too hot", 30)
        hot = daemon.live_causes(device)["Temperature"]
        assert hot["state"] == "degraded" and hot["value"] == 92, hot
        scene.wait_health("user", "Healthy")
    finally:
        fake("sensor", N3000, "dfl_fme_thermal", "temp1_input", "40000")
    until(lambda: not daemon.live_causes(device), "it has cooled down", 40)
    assert daemon.process_ids() == daemons and workers(daemon) == processes, "nothing was restarted"


def begin_to_program(scene) -> None:
    approve("aes", AES, FOUR_PORTS_INTERFACE)
    hold_programming(scene, programmed("aes", "aes", FOUR_PORTS_INTERFACE, f"{of('portId')} == 1"), user("user", "aes"))


def assert_others_are_served(scene, daemon) -> None:
    """Pods get the other cards, and their health is checked."""
    scene.apply(fpga_claim("other", f"{of('type')} == 'port' && {of('card')} == '{N3000}'"), user("other", "other"))
    scene.wait_running("other")
    fake("set-error", N3000, "0", "0x1")
    until(lambda: f"{DRIVER}/port-errors" in taints(daemon, N3000), "a taint on another card", 5)
    fake("set-error", N3000, "0", "0")
    until(lambda: not taints(daemon, N3000), "the taint is gone", 5)


def assert_programmed(scene, daemon, times: int) -> None:
    assert loaded() == AT_FIRST | {(FOUR_PORTS, 1): AES}
    assert len(done("FME_PORT_PR")) == times
    assert given(scene, "user")[1] == {variable(AES, FOUR_PORTS, 1)}
    wait_published(daemon, {(FOUR_PORTS, 1): AES})
    until(lambda: not taints(daemon, FOUR_PORTS, 1), "new pods may have the region", 5)


def test_daemon_dies_while_it_programs(scene, daemon, cards, neighbour):
    """The content of the region is unknown until it is programmed again."""
    begin_to_program(scene)
    daemon.kill_and_see_start()
    fake("release")  # the kernel ends the worker once it has ended the ioctl
    daemon.wait_serving()
    until(lambda: f"{DRIVER}/region" in taints(daemon, FOUR_PORTS, 1), "no new pod may have the region", 5)
    retry(scene)
    scene.wait_running("user", seconds=60)
    assert_programmed(scene, daemon, times=2)


def test_worker_dies_while_it_programs(scene, daemon, cards, neighbour):
    """The kernel continues programming, and no claim can get the region meanwhile."""
    begin_to_program(scene)
    [old] = workers(daemon)
    os.kill(old, signal.SIGKILL)
    until(lambda: set(workers(daemon)) - {old}, "the daemon starts the module again", 30)
    until(lambda: taints(daemon, FOUR_PORTS, 1), "no new pod may have the region", 5)
    assert_others_are_served(scene, daemon)
    assert fake("programming") == "1\n"
    fake("release")
    until(lambda: "stuck" not in daemon.cagectl("status"), "the ioctl has ended", 10)
    retry(scene)
    scene.wait_running("user", seconds=60)
    assert_programmed(scene, daemon, times=2)


def test_module_is_upgraded_while_it_programs(scene, daemon, cards, neighbour):
    """The old build finishes its work, and the new one serves everything else."""
    begin_to_program(scene)
    [old] = workers(daemon)
    build = MODULE_FILE.with_suffix(".next")
    build.write_bytes(MODULE_FILE.read_bytes() + b"another build")
    build.rename(MODULE_FILE)
    [new] = until(lambda: set(workers(daemon)) - {old}, "the new build is loaded", 30)
    assert_others_are_served(scene, daemon)
    assert set(workers(daemon)) == {old, new} and fake("programming") == "1\n"
    fake("release")
    scene.wait_running("user", seconds=60)
    assert_programmed(scene, daemon, times=1)
    until(lambda: workers(daemon) == [new], "the old build has ended", 30)


def test_progress_is_shown(scene, daemon, cards):
    approve("aes", AES)
    hold_programming(scene, programmed("aes", "aes"), user("user", "aes"))
    [seen] = [each for each in json.loads(daemon.cagectl("claims", "--json")) if each["driver"] == DRIVER]
    assert seen["progress"] == f"programming {N3000}/port-0 with bitstream 'aes'", seen
    assert seen["progress"] in daemon.cagectl("claims")
    fake("release")
    scene.wait_running("user")


def test_catalogue_is_listed(daemon, cards):
    approve("aes", AES)
    approve("gzip", GZIP)
    (CATALOGUE / "gzip.gbs").chmod(0o666)
    listed = {line.split()[2]: line for line in daemon.cagectl("catalogue", "fpga").splitlines()[1:]}
    assert set(listed) == {"aes", "gzip"}
    assert " usable " in listed["aes"] and AES in listed["aes"]
    assert " refused " in listed["gzip"] and "chmod go-w" in listed["gzip"]


def test_resource_resets_its_port_before_each_start(cluster, scene, daemon, cards):
    node = port(D5005).name
    wait_allocatable(cluster.api, {RESOURCE: 1})
    scene.apply(pod("user", [container(limits={RESOURCE: 1})], restartPolicy="Always"))
    scene.wait_running("user")
    assert given(scene, "user") == ({f"/dev/{node}": "1:3"}, {variable(NLB0, D5005)})
    assert done("PORT_RESET"), "before the first start"
    fake("clear-log")
    before = start_of(scene, "user")
    # The kernel kills every process of the container with its first one, and kubectl would report that of a `kill` in the foreground.
    scene.execute("user", "sh", "-c", "(sleep 0.2; kill 1) >/dev/null 2>&1 &")
    until(lambda: start_of(scene, "user") != before, "the container starts again", 30)
    scene.wait_running("user")
    assert done("PORT_RESET") == [f"ioctl {node} PORT_RESET"]
