#include "host/process/child_process.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>

#include "sim/scratch_folder.h"
#include "tests/fakes/eventually.h"

namespace cardcage {
namespace {

class ChildProcessTest : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((proc / file).parent_path());
    std::ofstream(proc / file) << text;
  }
  std::string hold() const { return hold_of(7, proc.path()); }
  ScratchFolder proc;
};

TEST_F(ChildProcessTest, NamesTheThreadThatWaitsInsideTheKernel) {
  write("7/stat", "7 (cardcage) worker) Z 1 7");
  write("7/task/7/stat", "7 (cardcage) worker) Z 1 7");
  write("7/task/8/stat", "8 (module) D 1 7");
  write("7/task/8/wchan", "nvidia_ioctl");
  EXPECT_EQ(hold(), "is in state D (it waits inside the kernel), in nvidia_ioctl");
}

TEST_F(ChildProcessTest, LeavesOutThePlaceIfTheKernelDoesNotTell) {
  write("7/task/7/stat", "7 (module) D 1 7");
  write("7/task/7/wchan", "0");
  EXPECT_EQ(hold(), "is in state D (it waits inside the kernel)");
  EXPECT_EQ(hold_of(9, proc.path()), "is in state ?");
}

TEST_F(ChildProcessTest, SeesADebuggerAlsoFromAnotherPidNamespace) {
  write("7/status", "Name:\tcardcage-worker\nPid:\t7\nTracerPid:\t0\nUid:\t0\n");
  write("7/task/7/stat", "7 (cardcage-worker) S 1 7");
  write("7/task/8/stat", "8 (module) T 1 7");
  EXPECT_FALSE(is_traced(7, proc.path()));
  write("7/task/8/stat", "8 (module) t 1 7");
  EXPECT_TRUE(is_traced(7, proc.path()));
  write("8/status", "Name:\tcardcage-worker\nPid:\t8\nTracerPid:\t10\nUid:\t0\n");
  EXPECT_TRUE(is_traced(8, proc.path()));
  EXPECT_FALSE(is_traced(9, proc.path()));
}

TEST_F(ChildProcessTest, ReapsTheProcessOnceAndSaysHowItEnded) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::pause();
    ::_exit(0);
  }
  ChildProcess child(pid, UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))), nullptr);
  EXPECT_FALSE(child.has_exited());
  EXPECT_EQ(child.end(), "does not end");
  child.kill();
  EXPECT_TRUE(eventually([&] { return child.has_exited(); }));
  EXPECT_FALSE(child.survivor("the worker", "m"));
  EXPECT_EQ(child.end(), "was killed by signal 9 (Killed)");
}

}  // namespace
}  // namespace cardcage
