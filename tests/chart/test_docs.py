"""docs/install.md describes the chart correctly."""

import json
import re

import pytest
import yaml

from chart import CHART, EXAMPLES, SOURCE, helm, render

INSTALL = (SOURCE / "docs/install.md").read_text()
VALUES = [yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```$", INSTALL, re.DOTALL | re.MULTILINE)]
MOCK = "charts/cardcage/examples/mock.yaml"


@pytest.mark.parametrize("values", VALUES, ids=lambda values: next(iter(values)))
def test_values_are_taken(values):
    assert [found for found in render(values) if found["kind"] == "DaemonSet"]


def test_every_example_is_named():
    for file in (*EXAMPLES, *(SOURCE / "examples").glob("*.yaml")):
        assert f"(../{file.relative_to(SOURCE)})" in INSTALL, file


def test_examples_say_what_to_expect():
    for file in (SOURCE / "examples").glob("*.yaml"):
        lines = [line for line in file.read_text().splitlines() if line.startswith("#")]
        assert len(lines) >= 5 and any(line.startswith("# Expect: ") for line in lines), file


def test_values_of_commands_exist():
    schema = json.loads((CHART / "values.schema.json").read_text())["properties"]
    assert set(re.findall(r"--set (\w+)[.=]", INSTALL)) <= set(schema)


def test_own_manifests(tmp_path):
    command = re.search(r"^helm template (.*?) > cardcage.yaml$", INSTALL, re.DOTALL | re.MULTILINE)[1].replace("\\\n", "").split()
    result = helm("template", *(str(SOURCE / MOCK) if word == "my-values.yaml" else word.replace("charts/", f"{SOURCE}/charts/") for word in command))
    assert result.returncode == 0 and "kind: Namespace" in result.stdout, result.stderr
