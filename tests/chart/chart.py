"""Renders the chart with helm."""

import json
import subprocess
import tomllib
from pathlib import Path

import yaml

SOURCE = Path(__file__).resolve().parents[2]
CHART = SOURCE / "charts/cardcage"
EXAMPLES = sorted((CHART / "examples").glob("*.yaml"))
HELM = SOURCE / "tools/helm"
MODULES = ("mock", "nvidia", "imex", "fpga", "nic", "generic")
WITHOUT_PARAMETERS = {"generic"}


def helm(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess:
    return subprocess.run([HELM, *arguments], input=stdin, text=True, capture_output=True)


def template(values: dict, *arguments: str) -> subprocess.CompletedProcess:
    return helm("template", "cardcage", str(CHART), "--namespace=cardcage", "--values=-", *arguments, stdin=json.dumps(values))


def render(values: dict, *arguments: str) -> list[dict]:
    """The objects that the chart renders with these values."""
    result = template(values, *arguments)
    assert result.returncode == 0, result.stderr
    return [found for found in yaml.safe_load_all(result.stdout) if found]


def refusal(values: dict, *arguments: str) -> str:
    """Helm's error for values that the chart refuses."""
    result = template(values, *arguments)
    assert result.returncode != 0, f"{values} is accepted"
    return result.stderr


def one(objects: list[dict], kind: str, name: str = "cardcage") -> dict:
    [found] = [found for found in objects if found["kind"] == kind and found["metadata"]["name"] == name]
    return found


def config(objects: list[dict], name: str = "cardcage") -> dict:
    return tomllib.loads(one(objects, "ConfigMap", name)["data"]["cardcage.toml"])


def pod(objects: list[dict], name: str = "cardcage") -> dict:
    return one(objects, "DaemonSet", name)["spec"]["template"]["spec"]


def mounts(objects: list[dict], name: str = "cardcage") -> dict[str, dict]:
    """The mounts of the daemon's container by path, with the source of each."""
    spec = pod(objects, name)
    sources = {volume["name"]: volume for volume in spec["volumes"]}
    return {mount["mountPath"]: {**mount, "source": sources[mount["name"]]} for mount in spec["containers"][0]["volumeMounts"]}
