// The daemon with the parent that restarts it.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "tests/daemon/daemon_fixture.h"
#include "tests/fakes/proc.h"

namespace cardcage {
namespace {

using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class RestartTest : public DaemonTest {
 protected:
  auto registrations() { return std::ranges::count(kubelet.history(), std::string(kDriver) + " v1.DRAPlugin"); }
  void start_with_parent() {
    daemon.start(DaemonProcess::Parent::kRestarts);
    ASSERT_TRUE(kubelet.wait_for([&] { return registrations() > 0; })) << daemon.log();
  }
  std::size_t errors_in_log() const {
    const std::string log = daemon.log(), error = "cardcage.toml:1:";
    std::size_t count = 0;
    for (auto at = log.find(error); at != std::string::npos; at = log.find(error, at + 1)) ++count;
    return count;
  }
  pid_t child() const {
    const auto children = proc::children(daemon.pid());
    return children.empty() ? -1 : children[0];
  }
};

TEST_F(RestartTest, ADaemonThatIsKilledServesAgainAtOnce) {
  const ClaimRef claim = add_claim("one", {"gpu-1"});
  start_with_parent();
  const auto before = prepare(claim);
  const pid_t first = child();
  const auto so_far = registrations();
  const auto killed = std::chrono::steady_clock::now();
  ASSERT_EQ(::kill(first, SIGKILL), 0);
  ASSERT_TRUE(kubelet.wait_for([&] { return registrations() > so_far; })) << daemon.log();
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - killed);
  RecordProperty("milliseconds", static_cast<int>(took.count()));
  EXPECT_LT(took, std::chrono::seconds(3));
  EXPECT_NE(child(), first);
  EXPECT_EQ(prepare(claim), before) << "the claim is still prepared";
  EXPECT_TRUE(shows("status", "1; the previous run was killed by signal 9 (Killed)"));
  EXPECT_TRUE(logged("the previous run of the daemon ended"));
  EXPECT_TRUE(unprepare(claim));
}

TEST_F(RestartTest, AStopEndsBothWithTheDaemonsStatus) {
  start_with_parent();
  const pid_t first = child();
  const int status = daemon.stop();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_FALSE(proc::is_alive(first));
}

TEST_F(RestartTest, SigtermToTheDaemonItselfEndsBoth) {
  start_with_parent();
  ASSERT_EQ(::kill(child(), SIGTERM), 0);
  ASSERT_TRUE(daemon.wait_for_exit(std::chrono::seconds(10))) << daemon.log();
  const int status = daemon.stop();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(RestartTest, AWrongConfigurationEndsTheFirstStart) {
  daemon.configure("nonsense");
  daemon.start(DaemonProcess::Parent::kRestarts);
  ASSERT_TRUE(daemon.wait_for_exit(std::chrono::seconds(10)));
  const int status = daemon.stop();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
}

TEST_F(RestartTest, AConfigurationThatIsWrongAfterACrashIsReadAgain) {
  start_with_parent();
  const auto so_far = registrations();
  daemon.configure("nonsense");
  ASSERT_TRUE(logged("cardcage.toml:1:")) << "the running daemon refuses it";
  const auto errors = errors_in_log();
  ASSERT_EQ(::kill(child(), SIGKILL), 0);
  ASSERT_TRUE(kubelet.wait_for([&] { return errors_in_log() > errors; })) << daemon.log();
  configure("devices = [\"gpu:4\"]");
  EXPECT_TRUE(kubelet.wait_for([&] { return registrations() > so_far; }, std::chrono::seconds(15))) << daemon.log();
}

TEST_F(RestartTest, TheParentHoldsNoFileOfTheDaemon) {
  start_with_parent();
  for (const auto& [descriptor, target] : proc::open_files(daemon.pid())) {
    if (target == daemon.folder() / "log") continue;
    EXPECT_THAT(target.native(), Not(StartsWith(daemon.folder().native())));
  }
  EXPECT_THAT(proc::children(daemon.pid()), SizeIs(1));
}

}  // namespace
}  // namespace cardcage
