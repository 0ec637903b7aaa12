// Files of the build. They are found beside the running program: a compiled-in path would cost the compiler cache of
// every other checkout.
#pragma once

#include <filesystem>
#include <string>

namespace cardcage {

// Returns a file in the folder of the build, such as "tests/abi/libcardcage_acme_c.so".
inline std::filesystem::path built(const std::filesystem::path& file) {
  static const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  return folder / file;
}
// Returns a program of the build, such as "cagectl".
inline std::filesystem::path built_program(const std::string& name) { return built("bin/" + name); }
// The folder of this project's modules, and the module "mock".
inline std::filesystem::path built_modules() { return built("lib/cardcage/modules"); }
inline std::filesystem::path built_module(const std::string& name) {
  return built_modules() / ("libcardcage_" + name + ".so");
}
// The folder of tests/modules, whose modules have one fault each.
inline std::filesystem::path test_modules() { return built("test-modules"); }

}  // namespace cardcage
