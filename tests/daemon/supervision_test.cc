// A module that fails makes its own devices unavailable for a while and loses no claim.
#include <signal.h>

#include <future>

#include "tests/daemon/daemon_fixture.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

class SupervisionTest : public DaemonTest, public ::testing::WithParamInterface<const char*> {
 protected:
  SupervisionTest() {
    configure("devices = [\"gpu:2\"]\nscript_file = \"" + script().native() + "\"", kDriver, GetParam(),
              "[deadlines]\ndiscover = \"100ms\"\nstop = \"100ms\"\n");
  }
  bool in_process() const { return GetParam() == std::string("in-process"); }
  // Expects that neither prepare nor unprepare works, and that the hardware is unchanged.
  void expect_away(const ClaimRef& held, const ClaimRef& next, const std::string& why) {
    EXPECT_THAT(cagectl("devices").text, HasSubstr(in_process() ? "unknown (ModuleStuck)" : "unknown (ModuleAway)"));
    const auto refused = kubelet.prepare(kDriver, {next});
    ASSERT_TRUE(refused) << refused.error().message;
    ASSERT_FALSE(refused->at(next.uid));
    EXPECT_THAT(refused->at(next.uid).error().message, HasSubstr(why));
    EXPECT_THAT(unprepare(held).error().message, HasSubstr(why)) << "the call must not pretend to succeed";
    EXPECT_THAT(files(hardware()), SizeIs(1));
  }
  void expect_back(const ClaimRef& held, const ClaimRef& next) {
    EXPECT_THAT(files(hardware()), SizeIs(1)) << "reconciled with the live claim";
    EXPECT_THAT(prepare(next), SizeIs(1));
    EXPECT_TRUE(unprepare(held));
    EXPECT_TRUE(unprepare(next));
    EXPECT_THAT(files(hardware()), IsEmpty());
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, SupervisionTest, ::testing::Values("process", "in-process"), name_of_isolation);

TEST_P(SupervisionTest, AStuckModuleIsContainedAndRecovers) {
  const ClaimRef held = add_claim("one", {"gpu-0"}), next = add_claim("two", {"gpu-1"});
  start_and_register();
  prepare(held);
  play("hang discover\nrescan");
  if (in_process()) {
    ASSERT_TRUE(shows("modules", "stuck: module 'mock' is stuck in discover since ", 20s)) << daemon.log();
    EXPECT_THAT(cagectl("status").text, HasSubstr("set isolation = \"process\" to let the host end the module"));
    expect_away(held, next, "is stuck in discover since ");
    EXPECT_EQ(cagectl("module restart mock").code, 1);
    play("heal discover");  // the call returns
  } else {
    ASSERT_TRUE(logged("was stuck in discover since ", 20s));
    fs::remove(script());  // or the next instance hangs as well
  }
  ASSERT_TRUE(shows("modules", "ready", 20s)) << daemon.log();
  expect_back(held, next);
}

TEST_F(DaemonTest, AWorkerThatCrashesIsReplacedAndReconciled) {
  configure("devices = [\"gpu:2\"]");
  const ClaimRef claim = add_claim("one", {"gpu-0"}), next = add_claim("two", {"gpu-1"});
  start_and_register();
  prepare(claim);
  const std::vector<pid_t> workers = daemon.workers();
  ASSERT_THAT(workers, SizeIs(1));
  ASSERT_EQ(::kill(workers[0], SIGABRT), 0);
  // At the same time, since the next instance starts after a second.
  auto backing_off = std::async(std::launch::async, [&] { return shows("modules", "backing off"); });
  EXPECT_TRUE(shows("devices", "unknown (ModuleAway)"));
  ASSERT_TRUE(backing_off.get());
  EXPECT_THAT(prepare(next), SizeIs(1)) << "it waits for the module";
  EXPECT_TRUE(unprepare(next));
  ASSERT_TRUE(shows("modules", "ready"));
  EXPECT_THAT(files(hardware()), SizeIs(1)) << "reconciled with the live claim";
  EXPECT_THAT(cagectl("modules mock").text,
              AllOf(HasSubstr("restarts      1, 1 failure in the last 30 minutes"), HasSubstr("last failure"),
                    HasSubstr("was killed by signal 6 (Aborted)")));
  EXPECT_TRUE(unprepare(claim));
  EXPECT_THAT(files(hardware()), IsEmpty());
}

TEST_F(DaemonTest, AWorkerThatIsStoppedIsReplaced) {
  start_and_register();
  const std::vector<pid_t> before = daemon.workers();
  ASSERT_THAT(before, SizeIs(1));
  ASSERT_EQ(::kill(before[0], SIGSTOP), 0);
  ASSERT_TRUE(shows("modules mock", "did not answer a ping for 10 s", 30s)) << daemon.log();
  ASSERT_TRUE(shows("modules", "ready"));
  EXPECT_NE(daemon.workers().at(0), before[0]);
}

}  // namespace
}  // namespace cardcage
