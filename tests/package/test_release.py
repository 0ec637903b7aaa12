"""The output of tools/release: complete, usable, and the same bytes a second time."""

import os
import subprocess
import sys

import pytest

from conftest import SOURCE, files, version_of

PACKAGES = ["cagectl", "cardcage", "cardcage-dev", "cardcage-fleet", *(f"cardcage-module-{name}" for name in ("fpga", "generic", "mock", "nic", "nvidia"))]


def run(*command, **more):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
    print(done.stdout)
    assert done.returncode == 0, done.stdout
    return done.stdout


def sums(folder):
    return (folder / "SHA256SUMS").read_text()


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    run(f"{SOURCE}/tools/release", folder)
    return folder


def test_it_has_everything_with_its_sum(release):
    version, arch = version_of("cardcage"), run("dpkg", "--print-architecture").strip()
    manifests = os.listdir(f"{SOURCE}/config/manifests")
    assert {file.name for file in release.iterdir()} == {
        *(f"{name}_{version}_{'all' if name == 'cardcage-dev' else arch}.deb" for name in PACKAGES),
        f"cardcage-{version}-{arch}.tar", f"cardcage-{version}-{arch}.spdx.json", f"cardcage-{version}.tgz",
        f"cardcage-sdk-{version}.tar.gz", *(f"cardcage-{version}-{name}" for name in manifests), "SHA256SUMS"}
    assert len(manifests) >= 5
    listed = run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=release).splitlines()
    assert len(listed) == len(list(release.iterdir())) - 1


def test_the_second_release_is_the_same_and_replaces_the_first(release, tmp_path):
    first = sums(release)
    (release / "a-note-of-the-operator").write_text("kept")
    run(f"{SOURCE}/tools/release", release, umask=0o077, env={**os.environ, "TZ": "Asia/Kathmandu", "LC_ALL": "C"})
    assert sums(release) == first
    assert (release / "a-note-of-the-operator").read_text() == "kept"
    (release / "a-note-of-the-operator").unlink()


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    done = subprocess.run([f"{SOURCE}/tools/release", tmp_path], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "has files, and no SHA256SUMS of a release" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_the_packaged_chart_makes_what_the_sources_make(release):
    [chart] = release.glob("cardcage-*.tgz")
    values = f"--values={SOURCE}/charts/cardcage/examples/two-profiles.yaml"

    def template(source):
        return run(f"{SOURCE}/tools/helm", "template", "cardcage", source, values, "--namespace=cardcage")
    assert template(chart) == template(f"{SOURCE}/charts/cardcage")


def test_vendors_build_with_the_unpacked_archive(release, tmp_path):
    [archive] = release.glob("cardcage-sdk-*.tar.gz")
    run("tar", "-xzf", archive, "-C", tmp_path)
    tree = tmp_path / "moved"
    (tmp_path / archive.name.removesuffix(".tar.gz")).rename(tree)
    for name in "cagectl", "cardcage":
        run("dpkg-deb", "--extract", files(release)[name], tmp_path / "programs")
    (tmp_path / "programs/usr/bin").rename(tree / "bin")
    vendor = [sys.executable, f"{SOURCE}/tests/abi/vendor.py"]
    run(*vendor, "new", tmp_path, "c")
    run(*vendor, "pkg-config", tmp_path)
    run(*vendor, "versions", tmp_path)


@pytest.mark.skipif(not os.environ.get("CARDCAGE_REBUILD"), reason="compiles everything again: CARDCAGE_REBUILD=1 tools/test package")
def test_another_folder_without_the_compiler_cache_gives_the_same(release, tmp_path_factory):
    copy = tmp_path_factory.mktemp("a-longer-name-of-a-folder") / "cardcage"
    copy.mkdir()
    run("sh", "-c", 'git ls-files -coz --exclude-standard | tar -c --null -T - | tar -x -C "$0"', copy, cwd=SOURCE)
    epoch = run("git", "log", "-1", "--format=%ct", cwd=SOURCE).strip()
    run(copy / "tools/release", env={**os.environ, "CCACHE_DISABLE": "1", "SOURCE_DATE_EPOCH": epoch})
    assert sums(copy / "build/artefacts") == sums(release)
