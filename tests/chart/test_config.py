"""The daemon accepts each configuration of the chart, and the chart knows each key of the daemon."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from chart import CHART, EXAMPLES, MODULES, SOURCE, WITHOUT_PARAMETERS, one, render


def check(build: Path, folder: Path, toml: str) -> str:
    """Runs `cardcage --check` with the modules where they were built, and returns its output."""
    file = folder / "cardcage.toml"
    file.write_text(toml.replace('"/usr/lib/cardcage/modules"', json.dumps(str(build / "lib/cardcage/modules"))))
    result = subprocess.run([build / "bin/cardcage", "--check", file], text=True, capture_output=True, env={**os.environ, "NODE_NAME": "node1"})
    return result.stdout + result.stderr


EVERYTHING = {
    "modules": {"mock": {"enabled": True, "isolation": "process", "process": {"limits": {"nofile": 1024}}, "device_nodes": ["/dev/null"], "attributes": [
        {"name": "example.com/rail", "value": 3, "select": {"pci": "0000:41:00.*"}}],
        "health": [{"cause": "*", "hold_down": "5s"}]}},
    "services": {"enabled": True}, "networkDevices": {"enabled": True}, "nodeFeatureDiscovery": {"enabled": True}, "hooksDir": "/opt/cardcage/hooks",
    "metrics": {"listen": "0.0.0.0:9471"}, "web": {"enabled": True},
    "config": {"node": {"numa_attribute": "list"}, "apiserver": {"request_timeout": "5s"}, "log": {"level": "debug", "format": "json"}, "deadlines": {"prepare": "30s"},
               "extraToml": '[[module]]\nname = "second"\npath = "libcardcage_mock.so"\n[[module.serve]]\ndriver = "other.mock.cardcage.dev"'}}


@pytest.mark.parametrize("values", [*EXAMPLES, EVERYTHING], ids=lambda values: values.stem if isinstance(values, Path) else "everything")
def test_the_daemon_takes_the_configuration(build, tmp_path, values):
    objects = render(yaml.safe_load(values.read_text()) if isinstance(values, Path) else values)
    configs = [found["data"]["cardcage.toml"] for found in objects if found["kind"] == "ConfigMap"]
    assert configs
    for toml in configs:
        assert re.search(r": ok, \d module", said := check(build, tmp_path, toml)), f"{said}\n{toml}"


def test_the_schema_has_the_keys_of_the_daemon():
    """The keys of [[module]] that docs/operator.md lists."""
    keys = re.findall(r"^\| `module\.([\w.]+)` \|", (SOURCE / "docs/operator.md").read_text(), re.MULTILINE)
    values = json.loads((CHART / "values.schema.json").read_text())
    schema = values["$defs"]
    of_a_module = {"enabled", "attributes", "drivers", "resources"}
    for group, found, of_the_chart in (
            ("", schema["module"], of_a_module), ("", values["properties"]["modules"]["properties"]["nvidia"], of_a_module | {"mps"}),
            ("", schema["vendorModule"], {"name", "path", "image", "imagePullPolicy", "onNode", "attributes", "drivers", "resources"}),
            ("process.", schema["process"], set()), ("health.", schema["health"], set()), ("attribute.", schema["attribute"], set())):
        documented = {key.removeprefix(group) for key in keys if key.startswith(group) and "." not in key.removeprefix(group)}
        documented -= {"name", "path", "attribute", "serve"} if not group else set()
        assert set(found["properties"]) - of_the_chart == documented, group or "module"
    served = {key.removeprefix("serve.") for key in keys if key.startswith("serve.") and not key.startswith("serve.select.")}
    assert served - {"api"} == set(schema["driver"]["properties"]) | set(schema["resource"]["properties"])


@pytest.mark.parametrize("module", sorted(set(MODULES) - WITHOUT_PARAMETERS))
def test_policies_of_parameters_are_current(build, module):
    library = build / f"lib/cardcage/modules/libcardcage_{module}.so"
    made = subprocess.run([build / "bin/cagectl", "module", "admission", "--file", library, "--driver", "driver.cardcage.invalid"],
                          text=True, capture_output=True, check=True).stdout
    file = CHART / f"files/admission/{module}.yaml"
    if os.environ.get("CARDCAGE_UPDATE"):
        file.write_text(made)
    assert file.read_text() == made, f"{file} is not what the module declares now; run `CARDCAGE_UPDATE=1 tools/test chart`"


def test_the_version_is_that_of_the_project():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    version = re.search(r"project\(cardcage VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
    assert chart["version"] == chart["appVersion"] == version


def test_the_daemon_set_has_one_place_for_the_configuration():
    objects = render(EVERYTHING)
    spec = one(objects, "DaemonSet")["spec"]["template"]["spec"]
    names = [volume["name"] for volume in spec["volumes"]]
    paths = [mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]]
    assert len(set(names)) == len(names) and len(set(paths)) == len(paths)
