// An upgrade: the next daemon waits for the previous one to exit, and the kubelet can always call one of them.
#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include "host/core/file.h"
#include "tests/daemon/daemon_fixture.h"

namespace cardcage {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class UpgradeTest : public DaemonTest {
 protected:
  void start_next() {
    next.configure(read_file(daemon.folder() / "cardcage.toml", 1 << 20).value());
    next.start();
    ASSERT_TRUE(kubelet.wait_for([&] { return next.logged("waiting for another cardcage"); })) << next.log();
  }
  // Prepares and unprepares claims all the time, while the daemon is replaced by the next one.
  void upgrade_under_calls() {
    const std::vector<ClaimRef> claims{add_claim("one", {"gpu-1"}), add_claim("two", {"gpu-2"})};
    const ClaimRef late = add_claim("late", {"gpu-3"});
    start_next();
    std::vector<std::string> failures;
    std::atomic<std::size_t> calls = 0;
    const auto is_called = [&] {
      const std::size_t more = calls + 4;
      return kubelet.wait_for([&] { return calls >= more; }, std::chrono::seconds(20));
    };
    std::jthread pods([&](const std::stop_token& stop) {
      const auto note = [&](const auto& answers) {
        ++calls;
        if (!answers) return failures.push_back(answers.error().message);
        for (const auto& [uid, answer] : *answers)
          if (!answer) failures.push_back(answer.error().message);
      };
      while (!stop.stop_requested())
        for (const ClaimRef& claim : claims) {
          note(kubelet.prepare(kDriver, {claim}));
          note(kubelet.unprepare(kDriver, {claim}));
        }
    });
    EXPECT_TRUE(is_called());
    EXPECT_EQ(daemon.stop(), 0);
    EXPECT_THAT(prepare(late), SizeIs(1)) << next.log();
    EXPECT_TRUE(is_called()) << next.log();
    pods.request_stop();
    pods.join();
    EXPECT_THAT(failures, IsEmpty()) << "out of " << calls;
    EXPECT_THAT(registry(), SizeIs(1)) << "the previous daemon has removed its socket";
  }
  // The names of the sockets.
  std::set<std::string> registry() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(daemon.folder() / "kubelet/plugins_registry"))
      names.insert(entry.path().filename());
    return names;
  }

  DaemonProcess next{built_program(CARDCAGE_DAEMON), built_module("mock")};
};

TEST_F(UpgradeTest, NoCallOfTheKubeletFails) {
  start_and_register();
  upgrade_under_calls();
  EXPECT_EQ(next.stop(), 0);
  EXPECT_THAT(registry(), IsEmpty());
}

TEST_F(UpgradeTest, NoCallFailsWhileTheKubeletConnects) {
  start_and_register();
  kubelet.delay_connections(std::chrono::milliseconds(150));
  upgrade_under_calls();
}

TEST_F(UpgradeTest, OneAfterTheOtherUsesTheNamesOfTheOneBefore) {
  const ClaimRef claim = add_claim("one", {"gpu-1"});
  start_and_register();
  const auto names = registry();
  start_next();
  EXPECT_EQ(daemon.stop(), 0);
  EXPECT_THAT(prepare(claim), SizeIs(1)) << next.log();
  EXPECT_NE(registry(), names);
  daemon.start();
  ASSERT_TRUE(logged("waiting for another cardcage")) << daemon.log();
  EXPECT_EQ(next.stop(), 0);
  EXPECT_TRUE(kubelet.wait_for([&] { return registry() == names; })) << daemon.log();
}

TEST_F(UpgradeTest, ADaemonThatNobodyWaitsForExitsAtOnce) {
  start_and_register();
  const Instant begun = std::chrono::steady_clock::now();
  EXPECT_EQ(daemon.stop(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(2));
  EXPECT_FALSE(daemon.logged("the next daemon registers")) << daemon.log();
}

TEST_F(UpgradeTest, ANextDaemonThatIsStoppedLeavesNothing) {
  start_and_register();
  start_next();
  const auto before = registry();
  next.stop();
  EXPECT_EQ(registry(), before);
  const Instant begun = std::chrono::steady_clock::now();
  EXPECT_EQ(daemon.stop(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(2));
}

}  // namespace
}  // namespace cardcage
