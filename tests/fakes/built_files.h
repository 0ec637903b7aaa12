// What the build has made. The files are found beside the running program: a path that is compiled in would cost the
// compiler cache of every other checkout.
#pragma once

#include <filesystem>
#include <string>

namespace cardcage {

// "tests/abi/libcardcage_acme_c.so", in the folder of the build.
inline std::filesystem::path built(const std::filesystem::path& file) {
  static const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  return folder / file;
}
// "cagectl"
inline std::filesystem::path built_program(const std::string& name) { return built("bin/" + name); }
// The modules of this project, and "mock" of them.
inline std::filesystem::path built_modules() { return built("lib/cardcage/modules"); }
inline std::filesystem::path built_module(const std::string& name) {
  return built_modules() / ("libcardcage_" + name + ".so");
}
// Those with one fault each, of tests/modules.
inline std::filesystem::path test_modules() { return built("test-modules"); }

}  // namespace cardcage
