"""Checks that a program or module runs on Debian 12, Debian 13 and Ubuntu 24.04: that it needs no shared library but those
that all three have, in no newer version than Debian 12 has. Usage: tools/check_libraries.py FILE..."""

import re
import subprocess
import sys

RELEASES = "Debian 12, Debian 13 and Ubuntu 24.04"
LIBRARIES = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libgcc_s.so.1", "libstdc++.so.6",
             "libcap.so.2", "libcrypto.so.3", "libcurl.so.4", "libmnl.so.0", "libseccomp.so.2", "libssl.so.3"}
# The newest symbol versions of Debian 12, which is the oldest of the releases.
VERSIONS = {"GLIBC": (2, 36), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13)}


def dotted(version):
    return ".".join(map(str, version))


def problems(name):
    headers = subprocess.run(["objdump", "--private-headers", name], check=True, capture_output=True, text=True).stdout
    for library in re.findall(r"^ +NEEDED +(\S+)$", headers, re.MULTILINE):
        if library not in LIBRARIES:
            yield (f"{name}: needs {library}, which is not a library that {RELEASES} are known to share; "
                   "link its archive (cmake/Dependencies.cmake), or add it to tools/check_libraries.py if all three have it")
    required = headers.partition("\nVersion References:\n")[2]
    for family, numbers in sorted(set(re.findall(rf" ({'|'.join(VERSIONS)})_([\d.]+)$", required, re.MULTILINE))):
        if tuple(map(int, numbers.split("."))) > VERSIONS[family]:
            yield f"{name}: needs {family}_{numbers}, but Debian 12 has at most {family}_{dotted(VERSIONS[family])}; build on Debian 12"


def main():
    found = [problem for name in sys.argv[1:] for problem in problems(name)]
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
