"""The container image: the same digest twice, small, readable by others, and without a shell."""

import hashlib
import json
import os
import subprocess
import sys

import pytest

from conftest import PACKAGES, SOURCE, version_of
from registry import Registry

sys.path.insert(0, os.path.join(SOURCE, "tests/pages"))
from pages import run_by  # noqa: E402

LARGEST = 30_000_000
CHECKED = """
[node]
name = "demo"
modules_dir = "/usr/lib/cardcage/modules"
""" + "".join(f"""
[[module]]
name = "{name}"
path = "libcardcage_{name}.so"
[[module.serve]]
driver = "{name}.cardcage.dev"
""" for name in ("mock", "nvidia", "fpga", "nic", "generic"))


def make(folder, *options):
    done = subprocess.run([f"{SOURCE}/tools/image", *options, str(folder), PACKAGES], check=True, stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    return next(folder.glob("*.tar")), done.stdout.split()[-1]


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    return make(tmp_path_factory.mktemp("image"), "--refresh")


@pytest.fixture(scope="module")
def root(image, tmp_path_factory):
    """The files of the image."""
    folder = tmp_path_factory.mktemp("layout")
    subprocess.run(["tar", "-xf", image[0], "-C", folder], check=True)

    def blob(digest):
        return folder / "blobs/sha256" / digest.split(":")[1]

    index = json.loads((folder / "index.json").read_text())
    manifest = json.loads(blob(index["manifests"][0]["digest"]).read_text())
    assert len(manifest["layers"]) == 3
    content = tmp_path_factory.mktemp("root")
    for layer in manifest["layers"]:
        subprocess.run(["tar", "-xzf", blob(layer["digest"]), "-C", content], check=True)
    return content


def in_root(root, *command):
    """Runs a program of the image with the /proc and /dev of a container; returns its output."""
    for folder in "proc", "dev":
        (root / folder).mkdir(exist_ok=True)
    script = 'mount -t proc proc "$0/proc"; mount --bind /dev "$0/dev"; exec chroot "$0" "$@"'
    done = subprocess.run(["unshare", "--mount", "sh", "-ec", script, root, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_second_image_downloads_nothing_and_is_the_same(image, tmp_path, monkeypatch):
    # apt finds no archive behind this proxy.
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    file, digest = make(tmp_path)
    assert digest == image[1]
    assert hashlib.sha256(file.read_bytes()).digest() == hashlib.sha256(image[0].read_bytes()).digest()


def test_it_is_small(image):
    assert os.path.getsize(image[0]) <= LARGEST


def test_another_tool_reads_it(image):
    read = json.loads(subprocess.run(["skopeo", "inspect", f"oci-archive:{image[0]}"], check=True, stdout=subprocess.PIPE, text=True).stdout)
    assert read["Digest"] == image[1]
    labels = read["Labels"]
    assert labels["org.opencontainers.image.title"] == "cardcage"
    assert labels["org.opencontainers.image.version"] == version_of("cardcage")
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_the_commands_of_the_page_push_it(image, tmp_path):
    (tmp_path / "build").mkdir()
    (tmp_path / "build/image").symlink_to(image[0].parent)
    registry = Registry()
    # Without TLS, which a reader's registry has.
    configuration = tmp_path / ".config/containers/registries.conf"
    configuration.parent.mkdir(parents=True)
    configuration.write_text(f'[[registry]]\nlocation = "{registry.address}"\ninsecure = true\n')
    try:
        commands = run_by(__file__, "docs/install.md")
        assert commands
        for command in commands:
            local = command.replace("registry.example.com", registry.address)
            done = subprocess.run(["bash", "-c", local], cwd=tmp_path, env={**os.environ, "HOME": str(tmp_path)},
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            print(done.stdout)
            assert done.returncode == 0, f"{command}\n{done.stdout}"
        assert json.loads(done.stdout[done.stdout.index("{"):])["Digest"] == image[1]
    finally:
        registry.end()


def test_its_programs_run_without_a_shell(root):
    assert not [name for name in ("sh", "bash", "dash", "busybox") if list(root.glob(f"**/bin/{name}"))]
    assert in_root(root, "/usr/bin/cardcage", "--version") == f"cardcage {version_of('cardcage')}\n"
    assert in_root(root, "/usr/bin/cagectl", "--version") == f"{version_of('cagectl')}\n"
    assert os.access(root / "usr/bin/cardcage-hook", os.X_OK)
    assert os.access(root / "usr/bin/cardcage-nvidia-mps", os.X_OK)


def test_its_modules_load(root):
    (root / "etc/cardcage/check.toml").write_text(CHECKED)
    seen = in_root(root, "/usr/bin/cardcage", "--check", "/etc/cardcage/check.toml")
    assert seen == "/etc/cardcage/check.toml: ok, 5 modules, 5 drivers, 0 resources\n"


def test_its_list_names_each_package(image, root):
    listed = json.loads((image[0].parent / f"{image[0].stem}.spdx.json").read_text())
    assert listed["spdxVersion"] == "SPDX-2.3"
    names = {one["name"] for one in listed["packages"]}
    assert names == {file.name for file in (root / "var/lib/dpkg/status.d").iterdir()}
    assert {"cardcage", "cagectl", "cardcage-fleet", "cardcage-module-nvidia", "libc6", "libcurl4"} <= names
