// Selects the process to kill as the user of a device node.
#include "modules/common/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>

#include "sim/scratch_folder.h"
#include "tests/fakes/sleeper.h"

namespace cardcage::hardware {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ProcessTest : public ::testing::Test {
 protected:
  ProcessTest() { std::ofstream(node) << std::flush; }
  static bool opens(const fs::path& file, const fs::path& other) {
    const Sleeper process(file);
    std::error_code error;
    return has_open(fs::path("/proc") / std::to_string(process.number()), other, error);
  }

  ScratchFolder folder;
  const fs::path node = folder / "nvidia0";
};

TEST_F(ProcessTest, ItsUserIsKilled) {
  Sleeper user(node);
  EXPECT_EQ(kill_user_of(node, user.number()), "");
  EXPECT_EQ(user.signal_at_end(), SIGKILL);
}

TEST_F(ProcessTest, OthersAreSpared) {
  const Sleeper other("/dev/null");
  EXPECT_THAT(kill_user_of(node, other.number()), HasSubstr("does not have '" + node.native() + "' open"));
  EXPECT_TRUE(other.is_alive());
}

TEST_F(ProcessTest, ANumberThatIsNoPidIsRefused) {
  EXPECT_THAT(kill_user_of(node, 0), HasSubstr("another PID namespace"));
  for (const std::uint64_t number : {std::uint64_t{1}, std::uint64_t{0x80000000}, std::uint64_t{0xffffffff},
                                     std::uint64_t{0x100000002}, ~std::uint64_t{0}})
    EXPECT_EQ(kill_user_of(node, number), "no process on a GPU has that number") << number;
}

TEST_F(ProcessTest, WhatHasEndedNeedsNoSignal) {
  Sleeper user(node);
  ::kill(static_cast<pid_t>(user.number()), SIGKILL);
  user.signal_at_end();
  EXPECT_EQ(kill_user_of(node, user.number()), "");
}

TEST_F(ProcessTest, ThisProcessAndItsParentsAreSpared) {
  for (const pid_t pid : {::getpid(), ::getppid()}) {
    if (pid <= 1) continue;
    EXPECT_EQ(kill_user_of(node, static_cast<std::uint64_t>(pid)), "it is this process or a parent of it");
  }
}

TEST_F(ProcessTest, ANodeIsKnownByItsNumbersWhereverItLies) {
  const fs::path copy = folder / "container/null";
  fs::create_directory(copy.parent_path());
  if (::mknod(copy.c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) GTEST_SKIP() << "this user makes no device nodes";
  const int descriptor = ::open(copy.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) GTEST_SKIP() << "no device node works here";
  ::close(descriptor);
  EXPECT_TRUE(opens(copy, "/dev/null"));
  EXPECT_FALSE(opens(copy, "/dev/zero"));
  EXPECT_FALSE(opens(copy, node));
}

}  // namespace
}  // namespace cardcage::hardware
