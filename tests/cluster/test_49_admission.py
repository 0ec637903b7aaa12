"""Policies of `cagectl module admission`: wrong parameters are refused when they are applied.

tests/admission has tables of parameters. The unit tests have the host judge the same tables, so both judge alike.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from api import Api
from daemon import SOURCE, build_folder
from kubectl import kubectl
from mock import DRIVER, PARAMETERS, claim, claim_spec, request, template, use
from scene import container, pod
from waiting import until

EVERY_DRIVER = "every.example.com"
GOOD = {**PARAMETERS, "kind": "GpuConfig", "sharing": {"strategy": "timeSlicing", "timeSlicing": {"intervalMs": 20}}}
BAD = {**PARAMETERS, "kind": "GpuConfig", "sharing": {"stratgy": "spatial"}}


def table(name: str) -> list[dict]:
    return json.loads((SOURCE / "tests/admission" / f"{name}.json").read_text())


def config(driver: str, parameters: dict) -> list[dict]:
    return [{"opaque": {"driver": driver, "parameters": parameters}}]


def device_class(name: str, driver: str, parameters: dict) -> dict:
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name},
            "spec": {"config": config(driver, parameters)}}


def refusal(api: Api, driver: str, parameters: dict, kind: str, version: str = "v1") -> str:
    """The API server's refusal of an object with the parameters; empty if it accepts the object, which is not stored."""
    root = f"/apis/resource.k8s.io/{version}"
    devices = {"requests": [], "config": config(driver, parameters)}
    where, spec = {
        "DeviceClass": (f"{root}/deviceclasses", {"config": devices["config"]}),
        "ResourceClaim": (f"{root}/namespaces/default/resourceclaims", {"devices": devices}),
        "ResourceClaimTemplate": (f"{root}/namespaces/default/resourceclaimtemplates", {"spec": {"devices": devices}}),
    }[kind]
    status, body = api.request("POST", f"{where}?dryRun=All", {
        "apiVersion": f"resource.k8s.io/{version}", "kind": kind, "metadata": {"name": "tried"}, "spec": spec})
    if status == 201:
        return ""
    message = json.loads(body)["message"]
    assert status == 422 and f"ValidatingAdmissionPolicy '{driver}'" in message, f"{status} {message}"
    return message


@contextmanager
def applied(api: Api, policies: str, *drivers: str) -> Iterator[None]:
    """Applies the policies and waits until the API server enforces them; removes them afterwards."""
    kubectl("apply", "-f", "-", stdin=policies)
    try:
        for driver in drivers:
            until(lambda driver=driver: refusal(api, driver, {"kind": "Unknown"}, "ResourceClaim"), f"the policy of {driver} is in force", 20)
        yield
    finally:
        kubectl("delete", "-f", "-", stdin=policies)
        for driver in drivers:
            until(lambda driver=driver: not refusal(api, driver, {"kind": "Unknown"}, "ResourceClaim"), f"the policy of {driver} is gone", 20)


@pytest.fixture(scope="module")
def printed(daemon) -> str:
    return daemon.cagectl("module", "admission", "mock", "--driver", DRIVER)


@pytest.fixture
def policy(cluster, printed):
    with applied(cluster.api, printed, DRIVER):
        yield


def test_the_module_has_a_policy_for_each_driver(daemon, printed):
    every = daemon.cagectl("module", "admission", "mock")
    assert every.startswith(printed) and "\n  name: nic.mock.cardcage.dev\n" in every


@pytest.mark.parametrize("name, driver", [("mock", DRIVER), ("every_parameter", EVERY_DRIVER)])
def test_the_api_server_judges_the_table(cluster, printed, name, driver):
    """An expression that cannot be evaluated would accept every object; here it refuses every object."""
    if name != "mock":
        build = build_folder()
        printed = subprocess.run([build / "bin/cagectl", "module", "admission", "--file", build / f"test-modules/{name}.so",
                                  "--driver", driver], check=True, capture_output=True, text=True).stdout
    assert printed.count("failurePolicy: Ignore") == 1
    wrong = []
    with applied(cluster.api, printed.replace("failurePolicy: Ignore", "failurePolicy: Fail"), driver):
        for row in table(name):
            for kind in ["DeviceClass"] if row["source"] == "class" else ["ResourceClaim", "ResourceClaimTemplate"]:
                said = refusal(cluster.api, driver, row["parameters"], kind)
                # The message begins with the path of the parameters in the object.
                where = {"DeviceClass": "spec.", "ResourceClaim": "spec.devices.", "ResourceClaimTemplate": "spec.spec.devices."}[kind]
                if bool(said) != ("refused" in row) or said and not (f": {where}config" in said and row["refused"] in said):
                    wrong.append(f"{kind}, {row['case']}: {said or 'accepted'}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_every_version_of_the_api_is_judged(cluster, policy, version):
    for kind in ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate"):
        assert refusal(cluster.api, DRIVER, GOOD, kind, version) == ""
        assert "stratgy" in refusal(cluster.api, DRIVER, BAD, kind, version)


def test_the_user_reads_which_field_is_wrong(scene, policy):
    said = kubectl("apply", f"--namespace={scene.namespace}", "-f", "-", stdin=json.dumps(claim("typo", parameters=BAD)), check=False)
    assert ("spec.devices.config[0].opaque.parameters.sharing does not take \"stratgy\"; "
            "it takes 'strategy', 'timeSlicing', 'memoryLimits'") in said, said
    assert scene.get("resourceclaims", "typo") is None


def test_other_drivers_are_not_judged(cluster, policy):
    assert refusal(cluster.api, "gpu.example.com", BAD, "ResourceClaim") == ""


def test_the_daemon_prepares_what_the_policy_accepts(scene, daemon, policy):
    good = [row["parameters"] for row in table("mock") if row["source"] == "claim" and "refused" not in row]
    assert len(good) >= 4
    for number, parameters in enumerate(good):
        scene.apply(claim(f"good-{number}", parameters=parameters),
                    pod(f"good-{number}", [container(claims=[{"name": "gpu"}])], [use("gpu", claim=f"good-{number}")]))
    scene.wait_running(*(f"good-{number}" for number in range(len(good))))


def test_objects_from_before_stay_editable(scene, cluster, printed):
    """A stored object may break the policy. Only a change of the configuration is judged."""
    made = device_class("from-before", DRIVER, BAD)
    wrong = template("from-before", request())
    wrong["spec"]["spec"] = claim_spec(parameters=BAD)
    scene.apply(claim("from-before", parameters=BAD), wrong,
                pod("user", [container(claims=[{"name": "gpu"}])], [use("gpu", claim="from-before")]))
    kubectl("apply", "-f", "-", stdin=json.dumps(made))
    try:
        [text, *_] = until(lambda: scene.events("FailedPrepareDynamicResources", "user"), "the event about the claim", 30)
        assert "sharing.stratgy" in text, "the daemon refuses it, too"
        with applied(cluster.api, printed, DRIVER):
            for kind in ("resourceclaim", "resourceclaimtemplate", "deviceclass"):
                kubectl("label", f"--namespace={scene.namespace}", kind, "from-before", "edited=yes")
            change_to(made, {**BAD, "mtu": 1}, 'does not take "mtu"')
            change_to(made, GOOD)
            change_to(made, BAD, 'does not take "stratgy"')
            scene.delete("pods", "user")
            scene.wait_gone("pods", "user")
            scene.delete("resourceclaims", "from-before")
            scene.wait_gone("resourceclaims", "from-before")
    finally:
        kubectl("delete", "deviceclass", "from-before")


def change_to(made: dict, parameters: dict, refused: str = "") -> None:
    changed = {**made, "spec": {"config": config(DRIVER, parameters)}}
    said = kubectl("apply", "-f", "-", stdin=json.dumps(changed), check=False)
    assert refused in said if refused else "configured" in said, said
