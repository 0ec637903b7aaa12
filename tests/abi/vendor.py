#!/usr/bin/env python3
"""A vendor's first hour, against an installed tree alone: a new module, its build, and its life in the daemon.

vendor.py install BUILD FOLDER      installs the components "vendor", "cardcage" and "cagectl" of a build into FOLDER and moves the tree
vendor.py new FOLDER c|cpp|rust     runs `cagectl module new` and the commands of the README that it writes
vendor.py new FOLDER current-rust   the same with a current rustc instead of Debian's, which is the oldest that is supported
vendor.py guide FOLDER              does what docs/module-author.md says in "Try it without a cluster", with the files that it quotes
vendor.py example FOLDER NAME       builds a module of examples/modules and checks it, by the commands of its README
vendor.py pkg-config FOLDER         builds the templates in C and C++ with pkg-config instead of CMake
vendor.py versions FOLDER           compares the versions of the ABI that the header, pkg-config, CMake and the crate state
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(TESTS))
QUOTED_FILE = re.compile(r"<!-- file: docs/examples/(\S+) -->\n```\w*\n(.*?)```", re.DOTALL)
SHELL_BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)
SKIPPED = 77  # CTest's SKIP_RETURN_CODE


def run(command, **more):
    print("$", command if isinstance(command, str) else " ".join(command), flush=True)
    return subprocess.run(command, check=True, timeout=100, **more)


def environment(tree, home):
    """A vendor's environment: Debian's programs, and Cardcage's own first."""
    sanitizers = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
    return {**sanitizers, "PATH": f"{tree}/bin:/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8",
            "PKG_CONFIG_PATH": f"{tree}/share/pkgconfig",
            "CMAKE_GENERATOR": "Ninja"}  # tools/setup installs no make


def install(build, folder):
    """The tree must work at any place, so it is moved after the install."""
    shutil.rmtree(folder, ignore_errors=True)
    for component in "vendor", "cardcage", "cagectl":
        run(["cmake", "--install", build, "--component", component, "--prefix", f"{folder}/first"], stdout=subprocess.DEVNULL)
    os.rename(f"{folder}/first", f"{folder}/moved")


def expect(what, condition, seen):
    if not condition:
        sys.exit(f"{what}; seen:\n{seen}")


def check_module(folder, library):
    run([sys.executable, os.path.join(TESTS, "etiquette.py"), f"{folder}/{library}"])
    # Compilers and build tools record the files that they read.
    for parent, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(parent, name), "rb") as content:
                expect(f"{parent}/{name}: not built from the installed files alone", f"{SOURCE}/abi".encode() not in content.read(), SOURCE)


def follow(text, folder, env, patterns):
    """Runs the commands of the text, as a vendor copies them to a shell, and looks for the patterns in their output."""
    commands = "".join(SHELL_BLOCK.findall(text)) + "wait\n"  # for the daemon
    with tempfile.TemporaryFile("w+") as output:
        shell = subprocess.Popen(["bash", "-euo", "pipefail", "-c", commands], cwd=folder, env=env, stdout=output,
                                 stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            code = shell.wait(timeout=100)
        finally:
            try:
                os.killpg(shell.pid, 9)  # the daemon, if a command before its end failed
            except ProcessLookupError:
                pass
        output.seek(0)
        seen = output.read()
    print(seen)
    expect(f"the commands ended with {code}", code == 0, "")
    for pattern in patterns:
        expect(f"the commands do not print '{pattern}'", re.search(pattern, seen), seen)


def readme_patterns(name):
    """The output of the commands in a new module's README."""
    return (r"desk\.toml: ok, 1 module, 1 driver", r"card0 .* healthy", r"card1 .* unhealthy \(CardFault\)",
            r"CARD_MODE=quiet", rf"/dev/null -> /dev/{name}/card0", rf": unprepared by {name}\.example\.com",
            r"[1-9]\d* passed, 0 failed", rf"building package 'cardcage-module-{name}'")


def follow_readme(folder, name, env):
    with open(f"{folder}/README.md", encoding="utf-8") as readme:
        follow(readme.read(), folder, env, readme_patterns(name))


def guide(tree):
    with open(f"{tree}/share/doc/cardcage/module-author.md", encoding="utf-8") as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as home:
        for name, content in QUOTED_FILE.findall(text):
            with open(os.path.join(home, name), "w", encoding="utf-8") as file:
                file.write(content)
        section = text.split("## Try it without a cluster\n")[1].split("\n## ")[0]
        try:
            follow(section, home, environment(tree, home),
                   (r"acme0 +card +acme .* healthy", r"ACME_MODE=quiet", r"ACME_BOOST_MHZ=100", r": unprepared by card\.acme\.com"))
        finally:
            shutil.rmtree("/tmp/acme-cards", ignore_errors=True)


def current_rustc():
    """The path of a current rustc, or None if it cannot be downloaded."""
    found = subprocess.run([f"{SOURCE}/tools/current-rustc"], stdout=subprocess.PIPE, text=True, timeout=100, check=False)
    return found.stdout.strip() if found.returncode == 0 else None


def new(tree, language):
    if "rust" in language and not (os.path.exists("/usr/bin/cargo") and os.path.exists("/usr/bin/rustc")):
        print("skipped: no cargo or rustc in /usr/bin; tools/setup installs them")
        return SKIPPED
    rustc = None
    if language == "current-rust":
        language, rustc = "rust", current_rustc()
        if rustc is None:
            print("skipped: tools/current-rustc cannot download a current rustc, as it says above")
            return SKIPPED
    name = f"{language}-{os.getpid()}"  # part of a path below /tmp
    with tempfile.TemporaryDirectory() as home:
        env = environment(tree, home) | ({"RUSTC": rustc} if rustc else {})
        try:
            run(["cagectl", "module", "new", name, "--language", language], cwd=home, env=env)
            follow_readme(f"{home}/{name}", name, env)
            output = "target/release" if language == "rust" else "build"
            check_module(f"{home}/{name}", f"{output}/libcardcage_{name.replace('-', '_')}.so")
        finally:
            shutil.rmtree(f"/tmp/{name}-desk", ignore_errors=True)
    return 0


def example(tree, name):
    if name == "tpm" and not (os.path.exists("/usr/bin/cargo") and os.path.exists("/usr/bin/rustc")):
        print("skipped: no cargo or rustc in /usr/bin; tools/setup installs them")
        return SKIPPED
    with tempfile.TemporaryDirectory() as home:
        folder = f"{home}/{name}"
        shutil.copytree(f"{SOURCE}/examples/modules/{name}", folder)
        if name == "tpm":
            with open(f"{folder}/Cargo.toml", "r+", encoding="utf-8") as file:
                text = file.read().replace("/usr/share/cardcage/rust", f"{tree}/share/cardcage/rust")
                file.seek(0)
                file.write(text)
                file.truncate()
        with open(f"{folder}/README.md", encoding="utf-8") as readme:
            commands = [line for line in "".join(SHELL_BLOCK.findall(readme.read())).splitlines() if not line.startswith("install ")]
        expect("the README builds and checks the module", len(commands) >= 2 and "module check" in commands[-1], commands)
        library = commands[-1].split()[-1]
        commands[-1] += " --no-prepare"  # this machine may have no such device
        for command in commands:
            run(command, shell=True, cwd=folder, env=environment(tree, home))
        check_module(folder, library)
    return 0


def pkg_config(tree):
    for language, compiler, file in (("c", "cc -std=gnu11", "module.c"), ("cpp", "c++ -std=c++17", "module.cc")):
        with tempfile.TemporaryDirectory() as home:
            env = environment(tree, home)
            run(["cagectl", "module", "new", "card", "--language", language], cwd=home, env=env)
            run(f"{compiler} $(pkg-config --cflags cardcage-module) {file} $(pkg-config --libs cardcage-module) -o card.so",
                shell=True, cwd=f"{home}/card", env=env)
            check_module(f"{home}/card", "card.so")


def versions(tree):
    def stated(file, pattern):
        with open(f"{tree}/{file}", encoding="utf-8") as content:
            return ".".join(re.findall(pattern, content.read(), re.MULTILINE))
    abi = stated("include/cardcage/module.h", r"^#define CAGE_ABI_M\w+ (\d+)u")
    seen = {"pkg-config": stated("share/pkgconfig/cardcage-module.pc", r"^Version: (.*)"),
            "CMake": stated("share/cardcage/cardcage-config-version.cmake", r'^set\(PACKAGE_VERSION "(.*)"\)'),
            "the crate": stated("share/cardcage/rust/Cargo.toml", r'^version = "(.*)\.0"')}
    expect(f"the header's ABI is {abi}, but not everywhere", set(seen.values()) == {abi}, seen)


def main():
    command, *arguments = sys.argv[1:]
    if command == "install":
        return install(*arguments)
    tree = os.path.join(arguments.pop(0), "moved")
    return {"new": new, "example": example, "guide": guide, "pkg-config": pkg_config, "versions": versions}[command](tree, *arguments)


if __name__ == "__main__":
    sys.exit(main())
