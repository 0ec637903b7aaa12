#include "host/process/worker_groups.h"

#include <gmock/gmock.h>
#include <sys/ptrace.h>

#include <fstream>

#include "sim/scratch_folder.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/idle_process.h"
#include "tests/fakes/proc.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class WorkerGroupsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (writable_control_groups().empty()) GTEST_SKIP() << "no control group is writable";
  }
  std::filesystem::path run_dir() const { return folder / "run"; }
  ScratchFolder folder;
};

TEST_F(WorkerGroupsTest, KillsWhatAnEarlierDaemonLeftBehind) {
  pid_t child = -1;
  std::optional<IdleProcess> helper;
  {
    WorkerGroups earlier(run_dir());
    const auto group = earlier.make("gpus");
    ASSERT_TRUE(group);
    child = helper.emplace(*group).fork_child();
  }
  ASSERT_TRUE(proc::is_alive(child));
  WorkerGroups next(run_dir());
  EXPECT_TRUE(eventually([&] { return !proc::is_alive(child) && !proc::is_alive(helper->pid()); }));
  EXPECT_FALSE(next.left_behind("gpus"));
  EXPECT_TRUE(next.make("gpus"));
}

TEST_F(WorkerGroupsTest, LeavesAnotherDaemonOfTheNodeAlone) {
  WorkerGroups other(folder / "other");
  const auto group = other.make("gpus");
  ASSERT_TRUE(group);
  const IdleProcess worker(*group);
  WorkerGroups next(run_dir());
  EXPECT_TRUE(proc::is_alive(worker.pid()));
  EXPECT_FALSE(next.left_behind("gpus"));
}

TEST_F(WorkerGroupsTest, EachWorkerHasItsOwn) {
  WorkerGroups groups(run_dir());
  const auto first = groups.make("gpus"), second = groups.make("gpus");
  ASSERT_TRUE(first && second);
  const IdleProcess worker(*first);
  second->kill();
  EXPECT_TRUE(proc::is_alive(worker.pid()));
}

// The kernel delays the exit of a traced process, as that of a process that waits for a driver.
TEST_F(WorkerGroupsTest, TellsOfWhatDoesNotEnd) {
  WorkerGroups earlier(run_dir());
  auto group = earlier.make("gpus");
  ASSERT_TRUE(group);
  const IdleProcess helper(*group);
  group.reset();
  if (::ptrace(PTRACE_SEIZE, helper.pid(), nullptr, PTRACE_O_TRACEEXIT) != 0) GTEST_SKIP() << "may not trace";
  const WorkerGroups next(run_dir());
  const Leftover left = next.left_behind("gpus");
  ASSERT_TRUE(left && left());
  EXPECT_THAT(*left(),
              AllOf(StartsWith(fmt::format("a process (pid {}) of module 'gpus' was killed and does not end: it is in "
                                           "state t",
                                           helper.pid())),
                    HasSubstr("restart the node")));
  EXPECT_FALSE(next.left_behind("nics"));
  ASSERT_EQ(::ptrace(PTRACE_DETACH, helper.pid(), nullptr, nullptr), 0);
  EXPECT_TRUE(eventually([&] { return left() == std::nullopt; }));
}

TEST_F(WorkerGroupsTest, WorkersGetNoneWhereNoneCanBeMade) {
  std::ofstream(folder / "cgroup") << "0::/\n";
  std::ofstream(folder / "mountinfo") << "41 31 0:38 / " << (folder / "away").native() << " rw - cgroup2 cgroup2 rw\n";
  WorkerGroups groups(run_dir(), folder.path());
  EXPECT_FALSE(groups.make("gpus"));
  EXPECT_FALSE(groups.left_behind("gpus"));
}

}  // namespace
}  // namespace cardcage
