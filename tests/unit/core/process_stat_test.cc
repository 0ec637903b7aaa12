#include "host/core/process_stat.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "host/core/file.h"
#include "sim/scratch_folder.h"

namespace cardcage {
namespace {

TEST(ProcessStatTest, FieldsFollowANameOfAnyCharacters) {
  const ScratchFolder process;
  ASSERT_TRUE(write_file_atomically(process / "stat", "42 (a (b) 7) S 1 42 43", 0600, false));
  EXPECT_EQ(stat_field(process.path(), 3), "S");
  EXPECT_EQ(stat_field(process.path(), 6), "43");
  EXPECT_EQ(stat_field(process.path(), 7), "");
}

TEST(ProcessStatTest, IsOfThisProcess) {
  EXPECT_EQ(stat_field("/proc/self", 4), std::to_string(::getppid()));
  EXPECT_EQ(stat_field("/proc/self/no such process", 3), "");
}

}  // namespace
}  // namespace cardcage
