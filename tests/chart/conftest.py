"""Skips all tests, with the reason, where helm can be neither found nor built."""

import pytest

from chart import helm


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
