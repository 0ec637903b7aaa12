"""The files that NVIDIA's container toolkit gives to containers on the same node: `nvidia-ctk cdi generate`."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path, PurePath

from layouts import resolved
from node import Mount, Node, mounts_of


@dataclass(frozen=True)
class Given:
    """Files of the driver root, and the names of libraries by which a container finds them."""

    files: frozenset[str]
    names: frozenset[str]


def by_toolkit(program: Path, node: Node) -> Given:
    command = [program, "cdi", "generate", "--mode=nvml", "--format=json", f"--driver-root={node.root}",
               f"--dev-root={node.fake}", "--nvidia-cdi-hook-path=/usr/bin/nvidia-cdi-hook"]
    done = subprocess.run(command, text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    spec = json.loads(done.stdout)
    links = [argument.split("::")[1] for hook in spec["containerEdits"]["hooks"] if "create-symlinks" in hook["args"]
             for argument in hook["args"] if "::" in argument]
    return given(node, mounts_of({**spec, "devices": []}), links)


def by_cardcage(node: Node) -> Given:
    return given(node, node.mounts["all"], [])


def given(node: Node, mounts: list[Mount], links: list[str]) -> Given:
    inside = [mount for mount in mounts if str(mount.source).startswith(f"{node.root}/")]
    files = {"/" + resolved(node.root, node.inside(mount.source)) for mount in inside}
    names = {PurePath(path).name for path in [*(mount.target for mount in inside), *links] if ".so" in path}
    return Given(frozenset(files), frozenset(names))
