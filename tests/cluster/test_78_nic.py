"""Network devices (docs/nic.md): veth and macvlan interfaces of the node move to pods and come back."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from changed_release import changed_release
from daemon import CDI
from kubectl import apply, kubectl
from mock import claim, request, use
from node import NEWER_RUNC
from scene import container, pod
from waiting import until

DRIVER = CLASS = "nic.cardcage.dev"
RELEASE = {"modules": {"nic": {"enabled": True, "options": {"interfaces": ["nic*"]}, "programs": ["/usr/lib/cni/host-local", "/usr/lib/cni/dhcp"]}}}
LEASES = Path("/var/lib/cni/networks/lan")  # where host-local notes the addresses of the example
LAN, GATEWAY = "lan0", "10.77.0.1"  # a bridge of the node, and its address there
ATTACHED = Path("/run/cardcage/attached")
OUR_FILES = f"cardcage.{DRIVER}-claim_*"


def ip(*words: str, check: bool = True) -> str:
    return subprocess.run(["ip", *words], check=check, text=True, stdout=subprocess.PIPE).stdout


def make_interfaces() -> None:
    """nic0 and nic1 are veth, nic2 is macvlan on a veth, since one on the bridge would not reach it; all are on the LAN. A pod's end destroys those
    that do not come back."""
    for name in ("nic0", "nic1"):
        if not ip("link", "show", name, check=False):
            ip("link", "add", name, "type", "veth", "peer", "name", f"{name}-lan")
            ip("link", "set", f"{name}-lan", "master", LAN, "up")
    if not ip("link", "show", "nic2", check=False):
        if not ip("link", "show", "trunk", check=False):
            ip("link", "add", "trunk", "type", "veth", "peer", "name", "trunk-lan")
            ip("link", "set", "trunk-lan", "master", LAN, "up")
            ip("link", "set", "trunk", "up")
        ip("link", "add", "nic2", "link", "trunk", "type", "macvlan", "mode", "bridge")


@pytest.fixture(scope="module")
def lan():
    ip("link", "add", LAN, "type", "bridge")
    ip("address", "add", f"{GATEWAY}/24", "dev", LAN)
    ip("link", "set", LAN, "up")
    make_interfaces()
    yield
    ip("link", "delete", LAN)


@pytest.fixture(scope="module")
def module(cluster, daemon, lan):
    with changed_release(cluster, daemon, RELEASE):
        wait_runtime(daemon, "connected")
        yield


def wait_runtime(daemon, state: str) -> None:
    until(lambda: json.loads(daemon.cagectl("status", "--json"))["containerRuntime"]["state"] == state, f"the container runtime is {state}", 30)


def interfaces(daemon) -> set[str]:
    return {device["name"] for device in daemon.devices(DRIVER)}


@pytest.fixture
def nics(daemon, module):
    until(lambda: not list(CDI.glob(OUR_FILES)), "earlier claims are released", 30)
    make_interfaces()
    until(lambda: interfaces(daemon) >= {"nic-nic0", "nic-nic1", "nic-nic2"}, "the slice has the interfaces", 20)


def nic_claim(claimed: str, device: str, **interface) -> dict:
    made = claim(claimed, request("nic", cel=f"device.attributes['{DRIVER}'].?ifName.orValue('') == '{device}'", device_class=CLASS))
    made["spec"]["devices"]["config"] = [{"opaque": {"driver": DRIVER, "parameters": {
        "apiVersion": f"{DRIVER}/v1alpha1", "kind": "NicConfig", "interface": interface}}}]
    return made


def user(name: str, claimed: str, **spec) -> dict:
    return pod(name, [container(claims=[{"name": "nic"}])], [use("nic", claim=claimed)], **spec)


def pings(scene, name: str, address: str = GATEWAY) -> None:
    scene.execute(name, "ping", "-c", "1", "-W", "2", address)


def kill_container(scene, name: str) -> None:
    restarts = scene.get("pods", name)["status"]["containerStatuses"][0]["restartCount"]
    try:
        scene.execute(name, "sh", "-c", "kill -TERM 1")
    except AssertionError:
        pass  # the shell has ended with the container
    until(lambda: scene.get("pods", name)["status"]["containerStatuses"][0]["restartCount"] > restarts, "the container restarts", 30)


def test_without_plugin(cluster, scene, daemon, lan):
    """The daemon does not see the runtime's socket: the hook alone moves the interface, which ends with the pod."""
    with changed_release(cluster, daemon, {"nriSocketDir": "/run/no-runtime", **RELEASE}):
        make_interfaces()
        until(lambda: "nic-nic0" in interfaces(daemon), "the slice has the interface", 20)
        wait_runtime(daemon, "no runtime")
        scene.apply(nic_claim("nic", "nic0", name="net1", addresses=["10.77.0.10/24"]), user("user", "nic"))
        scene.wait_running("user")
        pings(scene, "user")
        scene.delete("pods", "user")
        scene.wait_gone("pods", "user")
        until(lambda: "nic-nic0" not in interfaces(daemon), "the interface ended with the pod", 20)


def test_example(scene, nics):
    with scene.example("nic-interface.yaml", "nic"):
        scene.wait_log("nic", r"net1.*mtu 1500")
        scene.wait_log("nic", r"inet 10\.77\.0\.10/24")


def test_example_of_an_ipam_plugin(scene, daemon, nics):
    with scene.example("nic-ipam.yaml", "nic-ipam"):
        scene.wait_log("nic-ipam", r"inet 10\.77\.0\.1\d\d/24")
        pings(scene, "nic-ipam")
        [lease] = LEASES.glob("10.77.0.1*")
        assert f"inet {lease.name}/24" in scene.logs("nic-ipam")
        daemon.kill()  # the daemon that releases the claim is not the one that prepared it
    scene.wait_gone("pods", "nic-ipam")
    until(lambda: not list(LEASES.glob("10.77.0.1*")), "the plugin has its address back", 30)
    kubectl("delete", "deviceclass", "lan.nic.cardcage.dev")


@pytest.fixture
def dhcp(nics, tmp_path):
    """A DHCP server of the LAN, and the daemon of the CNI plugin. Yields the file of the server's leases."""
    Path("/run/cni/dhcp.sock").unlink(missing_ok=True)
    leases = tmp_path / "leases"
    server = ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--user=root", "--port=0", "--no-ping", "--bind-interfaces", f"--interface={LAN}",
              "--dhcp-range=10.77.0.50,10.77.0.59,255.255.255.0,1h", f"--dhcp-leasefile={leases}", "--pid-file="]
    programs = [subprocess.Popen(command, stdin=subprocess.DEVNULL) for command in (server, ["/usr/lib/cni/dhcp", "daemon"])]
    until(Path("/run/cni/dhcp.sock").exists, "the daemon of the plugin listens", 10)
    yield leases
    for program in programs:
        program.terminate()
        program.wait(10)


def test_pod_gets_an_address_by_dhcp(scene, dhcp):
    scene.apply(nic_claim("nic", "nic0", name="net1", dhcp=True), user("user", "nic", restartPolicy="Always"))
    scene.wait_running("user")
    pings(scene, "user")
    [address] = re.findall(r"inet (10\.77\.0\.5\d)/24", scene.execute("user", "ip", "addr", "show", "net1"))
    assert address in dhcp.read_text()
    kill_container(scene, "user")
    assert f"inet {address}/24" in scene.execute("user", "ip", "addr", "show", "net1")
    scene.delete("pods", "user")
    until(lambda: address not in dhcp.read_text(), "the server has its address back", 30)


@pytest.mark.parametrize("device", ["nic0", "nic2"])
def test_pod_gets_an_interface(scene, nics, device):
    scene.apply(nic_claim("nic", device, name="net1", addresses=["10.77.0.10/24"], mtu=1400), user("user", "nic"))
    scene.wait_running("user")
    pings(scene, "user")
    seen = scene.execute("user", "ip", "addr", "show", "net1")
    assert "10.77.0.10/24" in seen and "mtu 1400" in seen
    assert not ip("link", "show", device, check=False), "it is not on the node any more"

    def stated():
        [status] = scene.get("resourceclaims", "nic")["status"]["devices"]
        return status["networkData"]
    data = until(stated, "the claim tells the pod's address", 20)
    assert data["interfaceName"] == "net1" and data["ips"] == ["10.77.0.10/24"]


@pytest.fixture
def newer_runc(cluster):
    name = "interfaces-of-cdi"
    apply({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name}, "handler": NEWER_RUNC})
    yield name
    cluster.api.delete(f"/apis/node.k8s.io/v1/runtimeclasses/{name}")


def test_runtime_moves_the_interface(scene, daemon, nics, newer_runc):
    ip("address", "add", "10.77.0.10/24", "dev", "nic0")
    scene.apply(nic_claim("nic", "nic0", name="net1", movedBy="Runtime"), user("user", "nic", runtimeClassName=newer_runc))
    scene.wait_running("user")
    assert "UP" in scene.execute("user", "ip", "link", "show", "net1")
    assert not ip("link", "show", "nic0", check=False), "it is not on the node any more"
    [file] = CDI.glob(OUR_FILES)
    assert "hooks" not in file.read_text(), "the runtime alone brings the interface"
    pings(scene, "user")
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")
    until(lambda: not list(CDI.glob(OUR_FILES)), "the claim is released", 20)


def test_interface_comes_back_as_it_was(scene, daemon, nics):
    ip("link", "set", "nic0", "mtu", "1450", "alias", "rack-3")
    ip("address", "add", "192.0.2.7/24", "dev", "nic0")
    scene.apply(nic_claim("nic", "nic0", name="net1", addresses=["10.77.0.10/24"], mtu=1400), user("user", "nic"))
    scene.wait_running("user")
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")
    back = ip("link", "show", "nic0") + ip("address", "show", "nic0")
    assert "mtu 1450" in back and "alias rack-3" in back and "192.0.2.7/24" in back
    assert "nic-nic0" in interfaces(daemon)
    assert not list(ATTACHED.iterdir())


def test_two_pods_reach_each_other_and_never_share(scene, nics):
    for number in (0, 1):
        scene.apply(nic_claim(f"nic{number}", f"nic{number}", name="net1", addresses=[f"10.77.0.2{number}/24"]),
                    user(f"user{number}", f"nic{number}"))
    scene.wait_running("user0", "user1")
    pings(scene, "user0", "10.77.0.21")
    pings(scene, "user1", "10.77.0.20")
    # Several pods may share a claim, but not the interface.
    scene.apply(user("second", "nic0"))
    [text, *_] = until(lambda: [e for e in scene.events("Failed", "second") + scene.events("FailedCreatePodSandBox", "second") if "interface" in e],
                       "the event says why", 40)
    assert "interface 'nic0' of device 'interface/nic0' is not on the node: another pod has it" in text
    pings(scene, "user0", "10.77.0.21")


def test_container_restarts_with_its_interface(scene, nics):
    scene.apply(nic_claim("nic", "nic0", name="net1", addresses=["10.77.0.10/24"]), user("user", "nic", restartPolicy="Always"))
    scene.wait_running("user")
    kill_container(scene, "user")
    scene.wait_running("user")
    pings(scene, "user")


def test_daemon_killed_and_away(scene, daemon, nics):
    scene.apply(nic_claim("nic", "nic0", name="net1", addresses=["10.77.0.10/24"]), user("user", "nic", restartPolicy="Always"))
    scene.wait_running("user")
    daemon.kill()
    pings(scene, "user")
    assert "nic-nic0" in interfaces(daemon), "a device that a pod has stays a device"
    daemon.scale_to_nothing()
    try:
        kill_container(scene, "user")
        scene.wait_running("user")
        pings(scene, "user")
    finally:
        daemon.scale_back()
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")


def of_another_sandbox(file: Path) -> None:
    uid, _, *interfaces = file.read_text().splitlines()
    file.write_text("\n".join([uid, "sandbox/another", *interfaces, ""]))


@pytest.mark.parametrize("spoil", [Path.unlink, of_another_sandbox])
def test_no_container_starts_without_its_device(scene, daemon, nics, spoil):
    """The state after a kill of the daemon between sandbox and attach, with a reused namespace number."""
    scene.apply(nic_claim("nic", "nic0", name="net1", addresses=["10.77.0.10/24"]), user("user", "nic", restartPolicy="Always"))
    scene.wait_running("user")
    daemon.scale_to_nothing()
    try:
        for file in ATTACHED.iterdir():
            spoil(file)
        kill_container(scene, "user")
        [text, *_] = until(lambda: [event for event in scene.events("Failed", "user") if "cardcage" in event], "the event says why", 60)
        assert "the cardcage daemon does not serve /run/cardcage/sandbox.sock" in text
    finally:
        daemon.scale_back()
    scene.wait_running("user", seconds=90)
    pings(scene, "user")


def test_pod_on_the_network_of_the_node_is_refused(scene, nics):
    scene.apply(nic_claim("nic", "nic0"), user("user", "nic", hostNetwork=True))
    [text, *_] = until(lambda: [e for e in scene.events("Failed", "user") + scene.events("FailedCreatePodSandBox", "user") if "hostNetwork" in e],
                       "the event says why", 40)
    assert "leave hostNetwork out of the pod's spec" in text
    assert ip("link", "show", "nic0")


def wait_file(folder: Path, files: str, what: str) -> None:
    """Checks every millisecond, because the next step of the pod's start follows soon."""
    until(lambda: any(folder.glob(files)), what, 30, every=0.001)


@pytest.mark.parametrize("moment, folder, files", [("prepared", CDI, OUR_FILES), ("attached", ATTACHED, "*")])
def test_daemon_killed_while_a_pod_starts(scene, daemon, nics, moment, folder, files):
    scene.apply(nic_claim("nic", "nic0", name="net1", addresses=["10.77.0.10/24"]), user("user", "nic"))
    wait_file(folder, files, f"the claim is {moment}")
    daemon.kill()
    # A pod whose claim could not be prepared would be retried after a minute or two, or when it changes.
    kubectl("annotate", f"--namespace={scene.namespace}", "pod", "user", "retry=now")
    scene.wait_running("user", seconds=60)
    pings(scene, "user")


def test_runtime_that_gives_up_on_the_plugin(scene, daemon, nics):
    """The daemon is too slow for the runtime, which continues with the pod: its container waits for the device."""
    scene.apply(nic_claim("nic", "nic0", name="net1", addresses=["10.77.0.10/24"]), user("user", "nic"))
    wait_file(CDI, OUR_FILES, "the claim is prepared")
    [pid] = daemon.process_ids()
    time.sleep(0.02)  # for the response to the kubelet
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(4)
        assert scene.get("pods", "user")["status"]["phase"] == "Pending"
        assert not list(ATTACHED.iterdir())
    finally:
        os.kill(pid, signal.SIGCONT)
    scene.wait_running("user", seconds=60)
    pings(scene, "user")
    wait_runtime(daemon, "connected")


def test_runtime_restarts(cluster, scene, daemon, nics):
    scene.apply(nic_claim("nic", "nic0", name="net1", addresses=["10.77.0.10/24"]), user("user", "nic", restartPolicy="Always"))
    scene.wait_running("user")
    cluster.restart_containerd()
    wait_runtime(daemon, "connected")
    pings(scene, "user")
    kill_container(scene, "user")
    scene.wait_running("user")
    pings(scene, "user")
    # containerd does not tell plugins about the end of a sandbox that began before its own start (2.2), so the veth
    # ends with the pod.
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")
    until(lambda: not list(CDI.glob(OUR_FILES)), "the claim is released", 30)
    assert not list(ATTACHED.iterdir())
