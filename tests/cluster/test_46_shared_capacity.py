"""One device for several claims at once, each of which consumes a part of its capacity (KEP-5075)."""

import json
import time

import pytest

from api import RESOURCES
from changed_release import changed_release, vendor_module
from mock import allocated, assert_given, claim, request, sees, use
from scene import Scene, container, pod
from waiting import until

DRIVER = CLASS = "link.mock.cardcage.dev"
G = 1_000_000_000
OPTIONS = {"devices": ["nic:1"], "nic_speed_gbps": 400, "shared": True, "mount_dir": "/var/lib/cardcage/mock-links",
           "shared_capacity": ["nic bandwidth 100G range 50G 200G 50G"]}
POLICY = {"default": "100G", "validRange": {"min": "50G", "max": "200G", "step": "50G"}}


@pytest.fixture(scope="module")
def links(cluster, daemon):
    """Adds a module with one link that claims share, and removes it afterwards."""
    with changed_release(cluster, daemon, {"vendorModules": [vendor_module("links", OPTIONS, drivers=(DRIVER,))]}):
        until(lambda: daemon.devices(DRIVER), "the link is published", 20)
        yield


@pytest.fixture(autouse=True)
def free(daemon, links):
    """Waits until no claim of an earlier test has a share."""
    def holders() -> list[str]:
        claims = daemon.api.items(f"{RESOURCES}/resourceclaims")
        return [found["metadata"]["name"] for found in claims if any(result["driver"] == DRIVER for result in results(found))]
    until(lambda: not holders(), "the link is free", 60)


def part(bandwidth: str = "", name: str = "link") -> dict:
    """A request for an amount of the link, or for the default."""
    wanted = request(name, device_class=CLASS)
    if bandwidth:
        wanted["exactly"]["capacity"] = {"requests": {"bandwidth": bandwidth}}
    return wanted


def user(name: str) -> dict:
    return pod(name, [container(claims=[{"name": "link"}])], [use("link", claim=name)])


def start(scene: Scene, name: str, bandwidth: str = "") -> dict:
    """Starts a pod with a claim of its own; returns the claim."""
    scene.apply(claim(name, part(bandwidth)), user(name))
    scene.wait_running(name)
    return scene.get("resourceclaims", name)


def results(found: dict) -> list[dict]:
    return found.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])


def environment(scene: Scene, pod: str, container: str = "") -> dict[str, str]:
    return dict(line.split("=", 1) for line in sees(scene, pod, container)["env"] if line.startswith("MOCK_"))


def wait_refused(scene: Scene, name: str) -> None:
    until(lambda: any("cannot allocate all claims" in text for text in scene.events("FailedScheduling", name)),
          f"the scheduler reports that nothing is left for {name}", 15)
    assert not allocated(scene.get("resourceclaims", name))


def test_the_policy_is_published_once(daemon, links):
    """The stored slice equals the wanted one, so nothing is written again."""
    [device] = daemon.devices(DRIVER)
    assert device["allowMultipleAllocations"] is True
    assert device["capacity"] == {"bandwidth": {"value": "400G", "requestPolicy": POLICY}}
    [written] = daemon.slices(DRIVER)
    time.sleep(3)
    [later] = daemon.slices(DRIVER)
    assert later["metadata"]["resourceVersion"] == written["metadata"]["resourceVersion"]
    [shown] = json.loads(daemon.cagectl("devices", "--json", "--driver", DRIVER))
    assert shown["requestPolicies"] == {"bandwidth": {"default": "100G", "values": [], "min": "50G", "max": "200G", "step": "50G"}}


def test_two_pods_share_one_device(scene, daemon, links):
    """Each container sees its own share: the default, and an amount that is rounded up to the next step."""
    amounts = {"default": ("", 100 * G), "rounded": ("120G", 150 * G)}
    shares = {}
    for name, (wanted, consumed) in amounts.items():
        found = start(scene, name, wanted)
        [result] = results(found)
        assert result["device"] == "nic-0" and result["consumedCapacity"] == {"bandwidth": f"{consumed // G}G"}
        assert_given(scene, daemon, found["metadata"]["uid"], name)
        seen = environment(scene, name)
        assert seen["MOCK_NIC_0_BANDWIDTH"] == str(consumed)
        assert seen["MOCK_NIC_0_SHARE"] == result["shareID"]
        assert seen["MOCK_CLAIM"] == found["metadata"]["uid"]
        shares[result["shareID"]] = found["metadata"]["uid"]
    assert len(shares) == 2, "each claim has a share of its own"

    # The end of one share leaves the other unchanged, even if the daemon was killed in between.
    daemon.kill()
    first, second = shares.values()
    scene.delete("pods", "default")
    scene.wait_gone("pods", "default")
    until(lambda: not daemon.cdi_files(first), "the share is released", 20)
    assert_given(scene, daemon, second, "rounded")


def test_two_shares_in_one_claim(scene, daemon, links):
    """A claim may have the same device twice. Its lists name both shares in each container: the driver does not learn which one
    a container takes."""
    scene.apply(claim("pair", part("50G", "small"), part("200G", "large")), pod("user", [
        container(name, claims=[{"name": "link", "request": name}]) for name in ("small", "large")], [use("link", claim="pair")]))
    scene.wait_running("user")
    found = {result["request"]: result for result in results(scene.get("resourceclaims", "pair"))}
    assert {result["device"] for result in found.values()} == {"nic-0"}
    assert found["small"]["shareID"] != found["large"]["shareID"]
    for name in ("small", "large"):
        seen = environment(scene, "user", name)
        shares = dict(zip(seen["MOCK_NIC_0_SHARE"].split(","), seen["MOCK_NIC_0_BANDWIDTH"].split(",")))
        assert shares == {found["small"]["shareID"]: str(50 * G), found["large"]["shareID"]: str(200 * G)}


def test_more_than_the_range_is_not_scheduled(scene, links):
    scene.apply(claim("greedy", part("201G")), user("greedy"))
    wait_refused(scene, "greedy")


def test_what_is_left_is_given_once(scene, links):
    """All shares together never exceed the capacity. A share that ends makes room."""
    for name in ("first", "second"):
        start(scene, name, "200G")
    scene.apply(claim("third", part("50G")), user("third"))
    wait_refused(scene, "third")
    scene.delete("pods", "first")
    scene.wait_gone("pods", "first")
    scene.wait_running("third", seconds=60)
    assert environment(scene, "third")["MOCK_NIC_0_BANDWIDTH"] == str(50 * G)
