#include "host/module/orphan_reaper.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cardcage {
namespace {

bool is_reaped(pid_t pid) { return ::kill(pid, 0) != 0; }

pid_t exited_child() {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(7);
  siginfo_t about{};
  EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &about, WEXITED | WNOWAIT), 0);
  return pid;
}

TEST(OrphanReaperTest, ReapsWhatNobodyWaitsFor) {
  OrphanReaper reaper;
  const pid_t child = exited_child();
  reaper.look();
  EXPECT_FALSE(is_reaped(child)) << "its owner may be about to wait for it";
  const pid_t later = exited_child();
  reaper.look();
  EXPECT_TRUE(is_reaped(child));
  EXPECT_FALSE(is_reaped(later));
  reaper.look();
  EXPECT_TRUE(is_reaped(later));
}

TEST(OrphanReaperTest, LeavesTheStatusToAnOwnerWhoWaitsInTime) {
  OrphanReaper reaper;
  const pid_t child = exited_child();
  reaper.look();
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  reaper.look();
}

}  // namespace
}  // namespace cardcage
