// Compares output of cagectl with a file below tests/golden/ctl. CARDCAGE_UPDATE_GOLDEN=1 rewrites the file.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "host/core/file.h"
#include "tests/fakes/source_folder.h"

namespace cardcage {

struct GoldenCase {
  std::string file;
  std::vector<std::string> arguments;
};
// Names the case in ctest's list.
inline void PrintTo(const GoldenCase& about, std::ostream* out) { *out << about.file; }

inline void expect_golden(const std::string& name, const std::string& text) {
  const auto file = source_folder() / "tests/golden/ctl" / name;
  if (std::getenv("CARDCAGE_UPDATE_GOLDEN")) {
    ASSERT_TRUE(write_file_atomically(file, text, 0644));
  }
  EXPECT_EQ(text, read_file(file, 1'000'000).value_or("(no golden file)")) << file;
}

}  // namespace cardcage
