"""CDI files as container runtimes read them. tests/unit/cdi proves that the daemon writes files like these."""

import json
import subprocess

import pytest

from daemon import SOURCE


@pytest.mark.parametrize("file", sorted((SOURCE / "tests/golden/cdi").glob("*.json")), ids=lambda file: file.stem)
def test_the_loader_of_the_runtimes_reads_what_was_written(file):
    loaded = json.loads(subprocess.run(["cdi-load", str(file)], check=True, capture_output=True, text=True).stdout)
    written = json.loads(file.read_text().replace(',"minor":0', ""))  # the loader does not print zeros
    written.setdefault("containerEdits", {})  # and prints empty edits
    assert loaded == written
