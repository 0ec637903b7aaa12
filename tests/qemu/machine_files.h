// Helpers with which tests change the emulated machine.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace cardcage {

inline void write_to(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text << std::flush;
  ASSERT_TRUE(out.good()) << file;
}

inline bool succeeds(const std::string& command) { return std::system((command + " >&2").c_str()) == 0; }

}  // namespace cardcage
