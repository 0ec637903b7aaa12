#include "host/core/lock_holder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>

#include "host/core/unique_fd.h"
#include "sim/scratch_folder.h"

namespace cardcage {
namespace {

class LockHolderTest : public ::testing::Test {
 protected:
  ScratchFolder folder_;
};

TEST_F(LockHolderTest, FindsTheProcessThatHoldsALockOfAFolder) {
  EXPECT_FALSE(lock_holder(folder_.path()));
  const UniqueFd lock(::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(lock_holder(folder_.path()), ::getpid());
  EXPECT_FALSE(lock_holder(folder_ / "missing"));
}

TEST_F(LockHolderTest, FindsTheProcessThatHoldsALockOfAFilesBytes) {
  const auto file = folder_ / "ledger.db";
  const UniqueFd opened(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  struct flock bytes{};
  bytes.l_type = F_WRLCK;
  bytes.l_start = 100;
  bytes.l_len = 1;
  ASSERT_EQ(::fcntl(opened.get(), F_SETLK, &bytes), 0);
  EXPECT_EQ(lock_holder(file), ::getpid());
}

TEST_F(LockHolderTest, IgnoresProcessesThatWaitAndLinesThatItDoesNotKnow) {
  const UniqueFd lock(::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  std::ifstream all("/proc/locks");
  std::string held;
  while (std::getline(all, held) && held.find(fmt::format(" {} ", ::getpid())) == std::string::npos) {
  }
  const auto locks = folder_ / "locks";
  std::ofstream(locks) << "nonsense\n1: -> " << held.substr(held.find(' ') + 1) << '\n';
  EXPECT_FALSE(lock_holder(folder_.path(), locks));
  EXPECT_FALSE(lock_holder(folder_.path(), folder_ / "missing"));
}

}  // namespace
}  // namespace cardcage
