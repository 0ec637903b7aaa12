"""The lists that docs/nvidia.md gives to confined modules allow the edits of containers, with Debian's packages."""

import re
import tomllib

import pytest

from daemon import SOURCE
from node import BRANCHES


def patterns() -> list[re.Pattern]:
    """The list of the only example that confines the module. `*` does not match `/`."""
    blocks = re.findall(r"```toml\n(.*?)```", (SOURCE / "docs/nvidia.md").read_text(), re.DOTALL)
    [block] = [block for block in blocks if re.search(r"^mounts = \[", block, re.MULTILINE)]
    [module] = tomllib.loads(block)["module"]
    return [re.compile(re.escape(path.removesuffix(":rw")).replace(r"\*", "[^/]*")) for path in module["mounts"]]


@pytest.mark.parametrize("node", [(branch, "debian") for branch in BRANCHES], ids="-".join, indirect=True)
def test_confined_modules_may_mount_all(node):
    allowed = patterns()
    refused = [source for source in sorted({node.inside(mount.source) for mount in node.mounts["all"]})
               if not any(pattern.fullmatch(source) for pattern in allowed)]
    assert not refused
