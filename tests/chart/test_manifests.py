"""The manifests for `kubectl apply -f` are the chart, rendered with its example values."""

import os

import pytest
import yaml

from chart import EXAMPLES, SOURCE, template

HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# kubectl apply -f config/manifests/{name}
# Made by the chart from charts/cardcage/examples/{name}: change that file, then run `CARDCAGE_UPDATE=1 tools/test chart`.
"""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_manifests_are_current(example):
    result = template(yaml.safe_load(example.read_text()) | {"namespace": {"create": True}})
    assert result.returncode == 0, result.stderr
    made = HEAD.format(name=example.name) + "\n".join(line.rstrip() for line in result.stdout.splitlines() if line and not line.startswith("# Source: ")) + "\n"
    file = SOURCE / "config/manifests" / example.name
    if os.environ.get("CARDCAGE_UPDATE"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(made)
    assert file.exists() and file.read_text() == made, f"{file} is not current; run `CARDCAGE_UPDATE=1 tools/test chart`"


def test_every_manifest_has_an_example():
    assert {file.name for file in (SOURCE / "config/manifests").iterdir()} == {example.name for example in EXAMPLES}
