"""Skips all tests, with the reason, where helm can be neither found nor built. Finds the built programs."""

import os
import sys
from pathlib import Path

import pytest

from chart import MODULES, SOURCE, helm

sys.path.append(str(SOURCE / "tests/cluster"))  # for its `until`


def build_folder() -> Path:
    if chosen := os.environ.get("CARDCAGE_BUILD"):
        return Path(chosen)
    release = SOURCE / "build/release"
    return release if (release / "bin/cardcage").exists() else SOURCE / "build/dev"


@pytest.fixture(scope="session")
def build() -> Path:
    folder = build_folder()
    needed = ["bin/cardcage", "bin/cardcage-worker", "bin/cagectl", *(f"lib/cardcage/modules/libcardcage_{name}.so" for name in MODULES)]
    if missing := [name for name in needed if not (folder / name).exists()]:
        assert "CARDCAGE_BUILD" not in os.environ, f"{folder} has no {', '.join(missing)}"
        pytest.skip(f"{folder} has no {', '.join(missing)}: build them with `tools/test chart`")
    return folder


def pytest_collection_modifyitems(config, items):
    try:
        result = helm("version")
        reason = result.stderr.strip() if result.returncode else ""
    except OSError as error:
        reason = str(error)
    if reason:
        lines = reason.splitlines()
        config.stash[skipped_key] = lines[-1]
        for item in items:
            item.add_marker(pytest.mark.skip(reason=f"no helm: {lines[-1]}"))


skipped_key = pytest.StashKey[str]()


def pytest_terminal_summary(terminalreporter, config):
    if skipped_key in config.stash:
        terminalreporter.write_line(f"SKIPPED: helm cannot be built: {config.stash[skipped_key]}")
