"""A container gets the files that NVIDIA's container toolkit gives it, except differences that have a reason."""

import re

import pytest

from toolkit import by_cardcage, by_toolkit

# (side, "BRANCH LAYOUT", file or name, reason): regular expressions of the whole text.
REASONS = [
    ("ours", r"\d+ debian",
     r"/usr/lib/nvidia/current/(nvidia-smi|nvidia-debugdump|(nvidia_drv|libglxserver_nvidia)\.so.*)|"
     r".*/nvoptix\.bin|/etc/nvidia/.*outputclass\.conf|nvidia_drv\.so|libglxserver_nvidia\.so",
     "Debian's alternatives are absolute links, which the toolkit follows out of the driver root"),
    ("ours", r".*", r"libnvidia-egl-(gbm|wayland)\.so\.1",
     "the toolkit leaves the SONAME to ldconfig in the container"),
    ("ours", r".*", r"(/.*/)?libnvidia-api\.so\.1",
     "the toolkit has it behind the feature flag enable-explicit-driver-libraries"),
    ("ours", r"470 .*", r"(/.*/)?libnvidia-nvvm\.so(\.4(\.0\.0)?)?",
     "libcuda of 470 loads it; it has a version of its own, and the toolkit looks for the driver's"),
    ("ours", r"\d+ rpm", r"libGLX_nvidia\.so\.\d+\.[\d.]+|libGLX_indirect\.so\.0",
     "RPM packages have the version of libGLX_nvidia in a link alone, which the toolkit resolves and then does not know"),
    ("theirs", r"470 .*", r"nvidia-drm_gbm\.so",
     "the toolkit makes the link for every driver, and that of 470 has no GBM"),
    ("theirs", r"\d+ (rpm|run)", r"libglxserver_nvidia\.so\.[\d.]+",
     "the X server loads the module by its name without a version"),
]


def differences(node, toolkit) -> set[tuple[str, str]]:
    ours, theirs = by_cardcage(node), by_toolkit(toolkit, node)
    assert len(theirs.files) > 30 and len(theirs.names) > 50, "the toolkit has found no driver"
    found = {("ours", text) for text in (ours.files - theirs.files) | (ours.names - theirs.names)}
    return found | {("theirs", text) for text in (theirs.files - ours.files) | (theirs.names - ours.names)}


def test_files_are_those_of_the_toolkit(node, toolkit, used_reasons):
    unexplained = []
    for whose, text in sorted(differences(node, toolkit)):
        reasons = [reason for side, which, pattern, reason in REASONS
                   if side == whose and re.fullmatch(which, str(node)) and re.fullmatch(pattern, text)]
        used_reasons.update(reasons)
        if not reasons:
            unexplained.append(f"only {whose}: {text}")
    assert not unexplained, f"{node}\n" + "\n".join(unexplained)


def test_each_reason_is_needed(request, used_reasons):
    """Runs after the nodes: a reason that none of them needs is out of date."""
    if request.config.option.keyword or any("::" in argument for argument in request.config.args):
        pytest.skip("not every node was compared")
    assert {reason for *_, reason in REASONS} == used_reasons
