"""tools/check_libraries.py refuses a library that it does not list and a newer version of the C library, and nothing else."""

import os
import subprocess
import sys
import tempfile

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/check_libraries.py")


def compile_c(text, *arguments):
    subprocess.run(["cc", "-x", "c", "-", "-x", "none", *arguments], input=text, text=True, check=True)


def check(*names):
    run = subprocess.run([sys.executable, CHECK, *names], capture_output=True, text=True, check=False)
    return run.returncode, run.stderr.splitlines()


def main():
    with open("versions.map", "w", encoding="utf-8") as file:
        file.write("GLIBC_2.36 { global: old; };\nGLIBC_2.100 { global: new; };\n")
    compile_c("void old(void) {} void new(void) {}", "-shared", "-Wl,--version-script=versions.map", "-o", "libforeign.so")
    compile_c("void old(void); void new(void); int main(void) { old(); new(); return 0; }", "-L.", "-lforeign", "-o", "foreign")
    compile_c("int main(void) { return 0; }", "-o", "plain")
    compile_c("int main(void) { return 0; }", "-static", "-o", "static")
    accepted, refused = check("plain", "static"), check("plain", "foreign")
    assert accepted == (0, []), accepted
    assert refused == (1, [
        "foreign: needs libforeign.so, which is not a library that Debian 12, Debian 13 and Ubuntu 24.04 are known to share; "
        "link its archive (cmake/Dependencies.cmake), or add it to tools/check_libraries.py if all three have it",
        "foreign: needs GLIBC_2.100, but Debian 12 has at most GLIBC_2.36; build on Debian 12"]), refused


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main()
