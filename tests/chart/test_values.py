"""Values: the objects that they add, and those that the chart refuses."""

import functools
import json

import pytest
import yaml

from chart import CHART, config, helm, mounts, one, pod, refusal, render

MOCK = {"modules": {"mock": {"enabled": True}}}
NVIDIA = {"driverRoot": "/run/nvidia/driver", "modules": {"nvidia": {"enabled": True}}}
SHA = "0" * 64
ACME = {"name": "acme", "path": "/modules/libacme.so", "sha256": SHA, "image": "example.com/acme:1", "drivers": [{"driver": "gpu.acme.com"}]}


def vendor(**changes) -> dict:
    module = {**ACME, **changes}
    return {"vendorModules": [{key: value for key, value in module.items() if value is not None}]}


def profiles(*found: dict) -> dict:
    return MOCK | {"profiles": list(found)}


def profile(name: str, overrides: dict | None = None, **labels: str) -> dict:
    return {"name": name, "nodeSelector": labels, "overrides": overrides or {}}


@pytest.mark.parametrize("values, message", [
    # The schema.
    (MOCK | {"imag": {"tag": "x"}}, "additional properties 'imag' not allowed"),
    ({"modules": {"gpu": {"enabled": True}}}, "at '/modules': additional properties 'gpu' not allowed"),
    ({"modules": {"mock": {"enabled": "yes"}}}, "at '/modules/mock/enabled': got string, want boolean"),
    ({"modules": {"mock": {"enabled": True, "mps": True}}}, "at '/modules/mock': additional properties 'mps' not allowed"),
    (MOCK | {"kubeletRootDir": "var/lib/kubelet"}, "at '/kubeletRootDir': 'var/lib/kubelet' does not match pattern"),
    (MOCK | {"kubeletRootDir": "/" + "x" * 60}, "at '/kubeletRootDir': maxLength: got 61, want 54"),
    (MOCK | {"image": {"digest": "latest"}}, "at '/image/digest'"),
    (MOCK | {"metrics": {"listen": "9471"}}, "at '/metrics/listen'"),
    (profiles(profile("a", {"rbac": {"create": False}}, x="1")), "at '/profiles/0/overrides': additional properties 'rbac' not allowed"),
    (profiles({"nodeSelector": {"x": "1"}}), "at '/profiles/0': missing property 'name'"),
    (vendor(path=None), "at '/vendorModules/0': missing property 'path'"),
    (vendor(sha256="1234"), "at '/vendorModules/0/sha256'"),
    # Modules.
    ({}, "no module is enabled: the daemon would have no devices; set modules.NAME.enabled=true"),
    ({"modules": {"mock": {"enabled": True, "drivers": [], "resources": []}}}, "module 'mock' has neither drivers nor resources"),
    ({"modules": {"mock": {"enabled": True, "drivers": [{"driver": "a.b"}, {"driver": "a.b"}]}}}, "modules 'mock' and 'mock' both serve 'a.b'"),
    (MOCK | vendor(drivers=[{"driver": "gpu.mock.cardcage.dev"}]), "modules 'mock' and 'acme' both serve 'gpu.mock.cardcage.dev'"),
    (vendor(sha256=None), "vendorModules[0] 'acme' has no sha256"),
    (vendor(image=None), "vendorModules[0] 'acme' has no image"),
    (vendor(onNode=True), "vendorModules[0] 'acme' has both image and onNode"),
    (vendor(image=None, onNode=True) | {"vendorModulesDir": ""}, "has onNode, but vendorModulesDir is empty"),
    (vendor(name="nic"), "vendorModules[0] 'nic' has the name of a module of Cardcage"),
    ({"vendorModules": [ACME, ACME | {"drivers": [{"driver": "nic.acme.com"}]}]}, "two modules have the name 'acme'"),
    # Profiles.
    (profiles({"name": "a"}), "profiles[0] 'a' has no nodeSelector"),
    (MOCK | {"nodeSelector": {"gpu": True}}, "at '/nodeSelector/gpu': got boolean, want string"),
    (profiles(profile("a", x="1"), profile("a", x="2")), "profiles[1] 'a': another profile has this name"),
    (profiles(profile("a", x="1"), profile("b", x="1", y="1")), "profiles[1] 'b': its nodeSelector and that of profile 'a' match the same nodes"),
    (profiles(profile("a", {"modules": {"mock": {"enabled": False}}}, x="1")), "no module is enabled (profile 'a')"),
    # Other values.
    (NVIDIA | {"config": {"node": {"driver_root_on_node": "/x"}}}, "config.node.driver_root_on_node: the pod's mounts must agree"),
    (MOCK | {"config": {"node": {"kubelet_root": "/x"}}}, "config.node.kubelet_root: the pod's mounts must agree with this key"),
    (MOCK | {"serviceAccount": {"create": False}}, "serviceAccount.name is empty"),
    (MOCK | {"metrics": {"podMonitor": {"enabled": True}}}, "metrics.podMonitor.enabled: Prometheus cannot reach metrics.listen '127.0.0.1:9471'"),
    (MOCK | {"deviceClasses": {"extendedResources": {"gpu": "a.b/c"}}}, "there is no DeviceClass 'gpu' (the chart makes: gpu.mock.cardcage.dev)"),
    (MOCK | {"deviceClasses": {"additional": [{"name": "gpu.mock.cardcage.dev", "spec": {}}]}}, "DeviceClass 'gpu.mock.cardcage.dev' is made twice"),
    ({"modules": {"mock": {"enabled": True, "drivers": []}}, "claimStatus": {"enabled": True}}, "claimStatus.enabled: no module has drivers"),
])
def test_refused(values, message):
    assert message in refusal(values)


def test_namespace_default():
    assert "namespace 'default': the daemon's pods are privileged" in refusal(MOCK, "--namespace=default")


def test_older_kubernetes():
    assert "chart requires kubeVersion: >=1.34.0-0" in refusal(MOCK, "--kube-version=1.33.5")


def test_lint():
    result = helm("lint", "--strict", str(CHART), "--set=modules.mock.enabled=true", "--namespace=cardcage")
    assert result.returncode == 0 and "0 chart(s) failed" in result.stdout, result.stdout + result.stderr


def test_paths_are_mounted_and_configured():
    objects = render(MOCK | {"kubeletRootDir": "/var/lib/k0s/kubelet", "devicePluginsDir": "/plugins", "cdiDir": "/run/cdi", "hooksDir": "/opt/cardcage/hooks",
                             "vendorModulesDir": ""})
    node = config(objects)["node"]
    assert (node["kubelet_root"], node["device_plugins_dir"], node["cdi_dir"], node["hooks_dir"]) == (
        "/var/lib/k0s/kubelet", "/plugins", "/run/cdi", "/opt/cardcage/hooks")
    seen = mounts(objects)
    assert {"/var/lib/k0s/kubelet", "/var/lib/k0s/kubelet/plugins", "/var/lib/k0s/kubelet/plugins_registry", "/plugins", "/run/cdi", "/opt/cardcage/hooks"} <= set(seen)
    assert all(mount["source"]["hostPath"]["path"] == path for path, mount in seen.items() if path != "/etc/cardcage")
    assert not [path for path in seen if path.startswith("/var/lib/kubelet")]


def test_modules_bring_what_they_need():
    plain, nvidia, fpga, nic = (render(values) for values in (MOCK, NVIDIA, {"modules": {"fpga": {"enabled": True}}}, {"modules": {"nic": {"enabled": True}}}))
    assert set(mounts(nvidia)) - set(mounts(plain)) == {"/run/nvidia/driver"}
    assert set(mounts(nic)) - set(mounts(plain)) == {"/var/run/nri", "/var/run/netns", "/run/udev"}
    generic = render({"modules": {"generic": {"enabled": True}}})
    assert set(mounts(generic)) - set(mounts(plain)) == {"/run/udev"} and mounts(generic)["/run/udev"]["readOnly"]
    ipam = render({"modules": {"nic": {"enabled": True, "programs": ["/opt/cni/bin/host-local", "/opt/cni/bin/static"]}}})
    assert set(mounts(ipam)) - set(mounts(nic)) == {"/opt/cni/bin", "/var/lib/cni"}
    dhcp = render({"modules": {"nic": {"enabled": True, "programs": ["/opt/cni/bin/dhcp"]}}})
    assert set(mounts(dhcp)) - set(mounts(ipam)) == {"/run/cni"}
    assert set(mounts(fpga)) == set(mounts(plain))
    assert [pod(objects).get("hostPID", False) for objects in (plain, nvidia, fpga, nic)] == [False, False, True, False]
    assert [one(nic, "ClusterRole", "cardcage-claim-status")["rules"][1]["resourceNames"]] == [["nic.cardcage.dev"]]


def test_given_permissions_replace_the_defaults():
    values = {"modules": {"fpga": {"enabled": True, "writes": [], "process": {"seccomp": True, "limits": {"nofile": 1024}}}}}
    [module] = config(render(values))["module"]
    assert module["writes"] == [] and module["process"] == {"seccomp": True, "limits": {"nofile": 1024}}


def test_values_keep_their_types():
    options = {"text": 'a "b" \\ <c>\n', "number": 8000000000, "fraction": 0.5, "flag": False, "list": ["x", "y"]}
    select = {"attributes": {"example.com/ecc": True, "lanes": [8, 16]}}
    values = {"modules": {"mock": {"enabled": True, "options": options, "drivers": [{"driver": "a.b"}], "resources": [
        {"resource": "a.b/c", "select": select, "replicas": 4}]}}}
    [module] = config(render(values))["module"]
    assert {key: module["options"][key] for key in options} == options
    assert module["serve"] == [{"api": "device-plugin", "resource": "a.b/c", "select": select, "replicas": 4}, {"api": "dra", "driver": "a.b"}]


def test_vendor_module_from_an_image():
    objects = render(vendor())
    assert mounts(objects)["/usr/lib/cardcage/modules/acme"] == {
        "name": "vendor-acme", "mountPath": "/usr/lib/cardcage/modules/acme", "readOnly": True, "subPath": "modules",
        "source": {"name": "vendor-acme", "image": {"reference": "example.com/acme:1", "pullPolicy": "IfNotPresent"}}}
    [module] = config(objects)["module"]
    assert module["path"] == "acme/libacme.so" and module["sha256"] == SHA and "image" not in module


def test_vendor_module_without_image_volumes():
    objects = render(vendor(), "--kube-version=1.34.2")
    [copy] = pod(objects)["initContainers"]
    assert copy["command"] == ["cp", "/modules/libacme.so", "/modules/"]
    assert mounts(objects)["/usr/lib/cardcage/modules/acme"]["source"] == {"name": "vendor-acme", "emptyDir": {}}
    assert "initContainers" not in pod(render(vendor() | {"imageVolumes": "always"}, "--kube-version=1.34.2"))


def test_vendor_module_on_the_node():
    [module] = config(render(vendor(image=None, onNode=True, path="libacme.so")))["module"]
    assert module["path"] == "vendor/libacme.so"


def test_profiles():
    options = {"devices": ["gpu:8"], "mount_dir": None}
    objects = render(profiles(profile("gpu", {"modules": {"mock": {"options": options}}, "image": {"tag": "next"}}, kind="gpu"),
                              profile("rest", kind="rest")))
    assert [found["metadata"]["name"] for found in objects if found["kind"] == "DaemonSet"] == ["cardcage-gpu", "cardcage-rest"]
    gpu, rest = pod(objects, "cardcage-gpu"), pod(objects, "cardcage-rest")
    assert gpu["nodeSelector"] == {"kubernetes.io/os": "linux", "kind": "gpu"}
    assert (gpu["containers"][0]["image"], rest["containers"][0]["image"]) == ("cardcage:next", "cardcage:0.1.0")
    [module] = config(objects, "cardcage-gpu")["module"]
    assert module["options"] == {"devices": ["gpu:8"]}
    [module] = config(objects, "cardcage-rest")["module"]
    assert module["options"] == {"devices": ["gpu:4", "fpga:2"], "mount_dir": "/var/lib/cardcage/mock"}
    selectors = [found["spec"]["selector"]["matchLabels"]["cardcage.dev/profile"] for found in objects if found["kind"] == "DaemonSet"]
    assert selectors == ["gpu", "rest"]


def test_names_follow_the_release():
    objects = render(MOCK | {"fullnameOverride": "other"}, "--namespace=hardware")
    named = {found["metadata"]["name"] for found in objects if found["kind"] not in ("DeviceClass",)}
    assert all(name == "other" or name.startswith("other-") for name in named), named
    policy = one(objects, "ValidatingAdmissionPolicy", "other-events")
    assert policy["spec"]["matchConditions"][0]["expression"] == 'request.userInfo.username == "system:serviceaccount:hardware:other"'


def test_only_a_change_that_needs_a_restart_restarts():
    def start_config(values: dict) -> str:
        return one(render(MOCK | values), "DaemonSet")["spec"]["template"]["metadata"]["annotations"]["cardcage.dev/start-config"]
    assert start_config({"config": {"log": {"level": "debug"}}}) == start_config({})
    assert start_config({"config": {"node": {"numa_attribute": "list"}}}) != start_config({})


def test_schema_and_values_have_the_same_keys():
    """A value of values.yaml that the schema does not know would be refused; one that only the schema knows is not documented."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())

    def compare(properties: dict, given: dict, where: str) -> None:
        assert set(given) <= set(properties), where
        for key, value in given.items():
            child = properties[key]
            if "$ref" in child:
                child = functools.reduce(dict.get, child["$ref"].split("/")[1:], schema)
            if isinstance(value, dict) and "properties" in child:
                compare(child["properties"], value, f"{where}.{key}")

    compare(schema["properties"], values, "values")
    assert set(schema["properties"]) - set(values) == {"global"}


def test_a_driver_of_the_node_is_seen_in_a_folder():
    """EKS, AKS, DGX OS and kubeadm with packages: the driver is in the node's root. A driver container's has one path everywhere."""
    rendered = render({"modules": {"nvidia": {"enabled": True}}})
    assert config(rendered)["node"].items() >= {"driver_root": "/driver-root", "driver_root_on_node": "/"}.items()
    assert config(rendered)["module"][0]["programs"] == ["/driver-root/usr/bin/nvidia-smi"]
    volumes = {volume["name"]: volume["hostPath"]["path"] for volume in pod(rendered)["volumes"] if "hostPath" in volume}
    [mount] = [mount for mount in pod(rendered)["containers"][0]["volumeMounts"] if mount["name"] == "driver-root"]
    assert volumes["driver-root"] == "/"
    assert mount == {"name": "driver-root", "mountPath": "/driver-root", "readOnly": True, "mountPropagation": "HostToContainer"}
    assert "driver_root_on_node" not in config(render(NVIDIA))["node"] and config(render(NVIDIA))["node"]["driver_root"] == "/run/nvidia/driver"
    assert "driver-root" not in {volume["name"] for volume in pod(render(MOCK))["volumes"]}, "only the module nvidia sees the node's root"
