"""Features of DRA beyond plain claims. README.md lists them all with their tests."""


import pytest

from api import RESOURCES
from dra_features import (EXTENDED, PORT_CLASS, PORT_DRIVER, added_features, check_admin_access, check_extended_resource,
                          environment, index_is, uid_of)
from mock import CLASS, DRIVER, PARAMETERS, allocated, assert_given, claim, request, template, use
from node import GATES, NODE
from scene import Scene, container, pod
from waiting import until

NUMA_NODE = "resource.kubernetes.io/numaNode"


@pytest.fixture(scope="module")
def features(cluster, daemon, tmp_path_factory):
    with added_features(cluster, daemon):
        yield


@pytest.fixture(autouse=True)
def free(cluster, features):
    """Waits until no claim of an earlier test has a device, so that a refusal has the expected reason."""
    until(lambda: not [found for found in cluster.api.items(f"{RESOURCES}/resourceclaims") if allocated(found)], "all devices are free", 60)


def wait_refused(scene: Scene, name: str) -> None:
    until(lambda: [text for text in scene.events("FailedScheduling", name) if "cannot allocate" in text],
          f"the scheduler refuses pod {name}", 20)


@pytest.mark.parametrize("resource", [EXTENDED, f"deviceclass.resource.kubernetes.io/{CLASS}"], ids=["named", "implicit"])
def test_an_extended_resource_is_served_by_a_class(scene, daemon, features, resource):
    check_extended_resource(scene, daemon, resource)


def test_the_first_alternative_that_fits_and_its_parameters(scene, daemon, features):
    """Parameters name a request, or one of its alternatives; those of an alternative that was not chosen are ignored (KEP-4816)."""
    spec = claim("first-fit")
    impossible = [{"cel": {"expression": index_is(99)}}]
    spec["spec"] = {"devices": {
        "requests": [{"name": "gpu", "firstAvailable": [
            {"name": "large", "deviceClassName": CLASS, "selectors": impossible},
            {"name": "pair", "deviceClassName": CLASS, "count": 2}]}],
        "config": [{"requests": [where], "opaque": {"driver": DRIVER, "parameters": {**PARAMETERS, **values}}} for where, values in [
            ("gpu", {"sharing": "timeSlicing", "intervalMs": 30}), ("gpu/pair", {"sharing": "timeSlicing", "intervalMs": 40}),
            ("gpu/large", {"sharing": "spatial"})]]}}
    scene.apply(spec, pod("user", [container(claims=[{"name": "gpu", "request": "gpu"}])], [use("gpu", claim="first-fit")]))
    scene.wait_running("user")
    found = scene.get("resourceclaims", "first-fit")
    assert [result["request"] for result in found["status"]["allocation"]["devices"]["results"]] == ["gpu/pair"] * 2
    told = environment(scene, "user")
    for device in allocated(found):
        prefix = f"MOCK_{device.upper().replace('-', '_')}"
        assert (told[f"{prefix}_SHARING"], told[f"{prefix}_INTERVAL_MS"]) == ("timeSlicing", "40")


def test_admin_access_beside_the_claim_of_a_user(scene, daemon, features):
    check_admin_access(scene, daemon)


@pytest.fixture
def taint_rule(cluster):
    """Makes a rule that taints gpu-6, as an administrator does (KEP-5055)."""
    path = f"{RESOURCES}/devicetaintrules"

    def make(effect: str) -> None:
        cluster.api.create(path, {"metadata": {"name": "repair"}, "spec": {
            "deviceSelector": {"driver": DRIVER, "pool": NODE, "device": "gpu-6"},
            "taint": {"key": "example.com/repair", "value": "now", "effect": effect}}})
    yield make
    cluster.api.delete(f"{path}/repair")


@pytest.mark.parametrize("effect, goes_on", [("None", True), ("NoSchedule", False), ("NoExecute", False)])
def test_a_taint_rule_for_a_new_pod(scene, daemon, features, taint_rule, effect, goes_on):
    taint_rule(effect)
    scene.apply(claim("one", request(cel=index_is(6))), pod("user", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="one")]))
    if not goes_on:
        wait_refused(scene, "user")
        scene.api.delete(f"{RESOURCES}/devicetaintrules/repair")
    scene.wait_running("user", seconds=60)
    assert allocated(scene.get("resourceclaims", "one")) == ["gpu-6"]


def test_a_taint_rule_evicts_a_pod(scene, daemon, features, taint_rule):
    """The device is free at once, and the claim is prepared again elsewhere."""
    scene.apply(claim("one", request(cel=f"{index_is(6)} || {index_is(7)}")),
                pod("first", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="one")]))
    scene.wait_running("first")
    assert allocated(scene.get("resourceclaims", "one")) == ["gpu-6"]
    uid = uid_of(scene, "one")
    taint_rule("NoExecute")
    scene.wait_gone("pods", "first", seconds=60)
    until(lambda: not daemon.cdi_files(uid), "the claim is unprepared", 20)
    scene.apply(pod("second", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="one")]))
    scene.wait_running("second")
    assert allocated(scene.get("resourceclaims", "one")) == ["gpu-7"]
    assert_given(scene, daemon, uid, "second")


def test_pools_of_several_nodes_are_left_alone(cluster, daemon, features):
    """Slices of the same driver that do not belong to the node alone come from another publisher (KEP-4815)."""
    of_nodes = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node8", "node9"]}]}]}
    made = [cluster.api.create(f"{RESOURCES}/resourceslices", {"metadata": {"name": f"fabric-{number}"}, "spec": {
        "driver": DRIVER, "pool": {"name": f"fabric-{number}", "generation": 1, "resourceSliceCount": 1}, "devices": [{"name": "link-0"}], **where}})
        for number, where in enumerate([{"nodeSelector": of_nodes}, {"perDeviceNodeSelection": True, "devices": [{"name": "link-0", "nodeName": "node8"}]},
                                        {"allNodes": True, "devices": []}])]
    try:
        for found in daemon.slices(DRIVER):  # makes the publisher list and write
            cluster.api.delete(f"{RESOURCES}/resourceslices/{found['metadata']['name']}")
        until(lambda: len(daemon.devices(DRIVER)) == 24, "the node's own slices are back", 20)
        now = {found["metadata"]["name"]: found["metadata"]["resourceVersion"] for found in cluster.api.slices(DRIVER)}
        assert now.items() >= {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in made}.items()
    finally:
        for each in made:
            cluster.api.delete(f"{RESOURCES}/resourceslices/{each['metadata']['name']}")


def test_pods_of_a_group_share_its_claim(cluster, scene, daemon, features):
    """The claim is reserved for the group instead of its pods, and lives as long as the group (KEP-5729)."""
    groups = f"/apis/scheduling.k8s.io/v1beta1/namespaces/{scene.namespace}/podgroups"
    scene.apply(template("shared", request()))
    cluster.api.create(groups, {"metadata": {"name": "team"}, "spec": {
        "schedulingPolicy": {"basic": {}}, "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "shared"}]}})
    until(lambda: cluster.api.get(f"{groups}/team")["status"].get("resourceClaimStatuses"), "the group has its claim", 20)
    scene.apply(*(pod(name, [container(claims=[{"name": "gpu"}])], [use("gpu", template="shared")],
                      schedulingGroup={"podGroupName": "team"}) for name in ("first", "second")))
    scene.wait_running("first", "second")
    [found] = scene.items("resourceclaims")
    assert [(user["apiGroup"], user["resource"], user["name"]) for user in found["status"]["reservedFor"]] == [
        ("scheduling.k8s.io", "podgroups", "team")]
    uid = found["metadata"]["uid"]
    assert assert_given(scene, daemon, uid, "first") == assert_given(scene, daemon, uid, "second")
    scene.delete("pods", "first")
    scene.wait_gone("pods", "first")
    assert_given(scene, daemon, uid, "second")
    scene.delete("pods", "second")
    scene.wait_gone("pods", "second")
    cluster.api.delete(f"{groups}/team")
    scene.wait_gone("resourceclaims", found["metadata"]["name"])
    until(lambda: not daemon.cdi_files(uid), "the claim is unprepared", 20)


def numa_nodes(daemon, driver: str = DRIVER) -> dict[str, dict]:
    return {device["name"]: device["attributes"][NUMA_NODE] for device in daemon.devices(driver)}


def test_devices_of_two_drivers_on_one_numa_node(scene, daemon, features):
    """The constraint matches lists that share a node (KEP-5491, KEP-6072)."""
    assert all(value["ints"] for value in numa_nodes(daemon).values())
    pair = claim("pair", request("gpu", cel=index_is(23)), request("port", device_class=PORT_CLASS))
    pair["spec"]["devices"]["constraints"] = [{"matchAttribute": NUMA_NODE}]
    scene.apply(pair, pod("user", [container(claims=[{"name": "pair"}])], [use("pair", claim="pair")]))
    scene.wait_running("user")
    gpu, port = allocated(scene.get("resourceclaims", "pair"))
    assert set(numa_nodes(daemon)[gpu]["ints"]) & set(numa_nodes(daemon, PORT_DRIVER)[port]["ints"])


def test_a_server_without_lists_gets_the_node_as_a_number(cluster, daemon, features):
    def restart(lists: bool) -> None:
        cluster.restart_api_server({**GATES, "DRAListTypeAttributes": lists})
        for found in daemon.slices(DRIVER):  # it keeps lists in slices that have some
            cluster.api.delete(f"{RESOURCES}/resourceslices/{found['metadata']['name']}")

    def published(form: str) -> bool:
        values = numa_nodes(daemon)
        return len(values) == 24 and all([*value] == [form] for value in values.values())
    lists = {name: value["ints"][0] for name, value in numa_nodes(daemon).items()}
    try:
        restart(lists=False)
        until(lambda: published("int"), "numbers are published", 60)
        assert {name: value["int"] for name, value in numa_nodes(daemon).items()} == lists
        until(lambda: [line for line in daemon.log() if "gate=DRAListTypeAttributes" in line], "the daemon names the gate", 10)
    finally:
        restart(lists=True)
        cluster.restart_controller_manager()
    until(lambda: published("ints"), "lists are published again", 60)


def test_a_device_that_needs_no_prepare(scene, daemon, features):
    """The kubelet starts the pod without a call (KEP-5945)."""
    assert all(found["spec"]["skipNodeOperations"] == ["NodePrepareResources", "NodeUnprepareResources"] for found in daemon.slices(PORT_DRIVER))
    assert not any("skipNodeOperations" in found["spec"] for found in daemon.slices(DRIVER))
    scene.apply(claim("port", request("port", device_class=PORT_CLASS)),
                pod("user", [container(claims=[{"name": "port"}])], [use("port", claim="port")]))
    scene.wait_running("user")
    uid = uid_of(scene, "port")
    [result] = scene.get("resourceclaims", "port")["status"]["allocation"]["devices"]["results"]
    assert result["skipNodeOperations"] == ["NodePrepareResources", "NodeUnprepareResources"]
    assert uid not in daemon.cagectl("claims") and not daemon.cdi_files(uid)
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")
    assert uid not in daemon.cagectl("history")
