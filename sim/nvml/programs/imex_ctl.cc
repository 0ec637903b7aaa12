// A small nvidia-imex-ctl, linked statically: it also runs in containers without a shell. It prints what the files in
// the folder imex beside its driver say, which FakeGpus writes.
//
//   nvidia-imex-ctl -q        the state of the node's daemon
//   nvidia-imex-ctl -N -j     its domain as JSON
//
// Source: nvidia-imex-ctl --help.
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

namespace {

namespace fs = std::filesystem;

// ROOT/imex for the program ROOT/driver/usr/bin/nvidia-imex-ctl.
fs::path imex_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path().parent_path().parent_path() / "imex";
}

int print(const fs::path& file) {
  std::ifstream from(file);
  std::cout << std::string(std::istreambuf_iterator<char>(from), {});
  return EXIT_SUCCESS;
}

}  // namespace

int main(int count, char** words) {
  const fs::path folder = imex_folder();
  std::string line;
  for (int i = 1; i < count; ++i) line += (i > 1 ? " " : "") + std::string(words[i]);
  std::ofstream(folder / "asked", std::ios::app) << line << '\n';
  std::error_code error;
  if (!fs::exists(folder / "daemon", error)) {
    std::cerr << "Could not connect to the IMEX daemon\n";
    return EXIT_FAILURE;
  }
  const std::string first = count > 1 ? words[1] : "", second = count > 2 ? words[2] : "";
  if (first == "-q") return print(folder / "daemon");
  if (first == "-N" && second == "-j") return print(folder / "domain");
  std::cerr << "unknown option " << first << '\n';
  return 2;
}
