// Commands of an operator to a module.
#include "tests/unit/supervision/supervisor_fixture.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

constexpr const char* kModuleQuiesced =
    "module 'fake' is quiesced by alice since 2027-01-15T08:00:00Z (driver 580); 'cagectl module resume fake' takes it "
    "back into service";

class QuiesceTest : public SupervisorFixture {
 protected:
  QuiesceTest() { module->about.has_quiesce = true; }
  void make_ready() {
    settle();
    module->events.health("gpu-0", Health{.state = HealthState::kHealthy});
    ASSERT_EQ(supervisor.state(), ModuleState::kReady);
  }
  void quiesce() {
    const auto done = order(ModuleVerb::kQuiesce);
    ASSERT_TRUE(*done);
    ASSERT_TRUE(**done) << (*done)->error().message;
    ASSERT_EQ(supervisor.state(), ModuleState::kQuiesced);
  }
};

TEST_F(QuiesceTest, AQuiescedModuleIsNotUsableUntilItIsResumed) {
  make_ready();
  quiesce();
  EXPECT_EQ(module->count<QuiesceCall>(), 1);
  EXPECT_EQ(module->count<StopCall>(), 0);
  EXPECT_EQ(supervisor.module().error(), (Error{Code::kUnavailable, kModuleQuiesced}));
  const Health health = supervisor.health(device()).health;
  EXPECT_EQ(health.state, HealthState::kUnknown);
  EXPECT_EQ(health.reason, "Quiesced");
  EXPECT_EQ(health.message, kModuleQuiesced);
  EXPECT_EQ(health.taint, TaintEffect::kNoSchedule);
  EXPECT_EQ(supervisor.warning(), kModuleQuiesced);

  const auto resumed = order(ModuleVerb::kResume);
  ASSERT_TRUE(*resumed);
  EXPECT_TRUE(**resumed);
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
  EXPECT_EQ(supervisor.health(device()).health.state, HealthState::kHealthy);
  ASSERT_TRUE(supervisor.module());
  EXPECT_EQ(loads, 1) << "the same instance";
  EXPECT_EQ(module->count<ResumeCall>(), 1);
  EXPECT_EQ(module->count<DiscoverCall>(), 2);
  EXPECT_EQ(module->reconciled.size(), 2u);
  EXPECT_EQ(supervisor.warning(), "");
}

TEST_F(QuiesceTest, AModuleWithoutQuiesceIsStopped) {
  module->about.has_quiesce = false;
  make_ready();
  quiesce();
  EXPECT_EQ(module->count<StopCall>(), 1);
  EXPECT_EQ(supervisor.snapshot()->devices.size(), 1u) << "the devices stay listed";
  clock.advance(10min);
  settle();
  EXPECT_EQ(loads, 1);
  ASSERT_TRUE(**order(ModuleVerb::kResume));
  EXPECT_EQ(loads, 2);
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
}

TEST_F(QuiesceTest, AQuiesceWaitsForOpenCallsAndRefusesNewOnes) {
  make_ready();
  module->block<FakeModule::FinishCalls>();
  const auto done = order(ModuleVerb::kQuiesce);
  EXPECT_FALSE(*done);
  EXPECT_EQ(supervisor.module().error().message, kModuleQuiesced);
  EXPECT_EQ(module->count<QuiesceCall>(), 0);
  module->unblock<FakeModule::FinishCalls>();
  settle();
  ASSERT_TRUE(*done);
  EXPECT_TRUE(**done);
  EXPECT_EQ(module->count<QuiesceCall>(), 1);
}

TEST_F(QuiesceTest, AQuiesceFailsAndChangesNothingIfACallDoesNotEnd) {
  make_ready();
  module->fail<FakeModule::FinishCalls>(Error{Code::kDeadlineExceeded, "module 'fake' is still busy with prepare"});
  const auto done = order(ModuleVerb::kQuiesce);
  ASSERT_TRUE(*done);
  EXPECT_EQ((*done)->error().message, "module 'fake' is not quiesced, nothing changed: it is still busy with prepare");
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
  EXPECT_TRUE(supervisor.module());
  EXPECT_EQ(supervisor.health(device()).health.state, HealthState::kHealthy);
  EXPECT_EQ(module->count<QuiesceCall>(), 0);
  EXPECT_EQ(marks.find("fake"), nullptr);
}

TEST_F(QuiesceTest, AModuleThatFailsToQuiesceIsResumed) {
  make_ready();
  module->fail<QuiesceCall>(Error{Code::kInternal, "gpu-0 is in use by a process"});
  const auto done = order(ModuleVerb::kQuiesce);
  ASSERT_TRUE(*done);
  EXPECT_THAT((*done)->error().message, HasSubstr("nothing changed: gpu-0 is in use by a process"));
  EXPECT_EQ(module->count<ResumeCall>(), 1);
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
  EXPECT_TRUE(supervisor.module());
  clock.advance(1s);
  settle();
  EXPECT_EQ(module->count<DiscoverCall>(), 2) << "resume is followed by discover [R12]";
}

TEST_F(QuiesceTest, AQuiesceThatCannotBeRecordedIsRefused) {
  std::filesystem::create_directories(folder / "quiesced/fake");
  make_ready();
  const auto done = order(ModuleVerb::kQuiesce);
  ASSERT_TRUE(*done);
  EXPECT_THAT((*done)->error().message, StartsWith("module 'fake' is not quiesced: its mark cannot be written: "));
  EXPECT_EQ(module->count<QuiesceCall>(), 0);
  EXPECT_TRUE(supervisor.module());
}

TEST_F(QuiesceTest, NeitherACrashNorANewFileStartsAQuiescedModule) {
  make_ready();
  quiesce();
  module->events.lost(Error{Code::kUnavailable, "killed by signal 11"});
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kQuiesced);
  EXPECT_EQ(module->count<StopCall>(), 1) << "the dead instance is released";
  supervisor.renew();
  settle();
  clock.advance(10min);
  settle();
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(supervisor.state(), ModuleState::kQuiesced);
  ASSERT_TRUE(**order(ModuleVerb::kResume));
  EXPECT_EQ(loads, 2);
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
}

TEST_F(QuiesceTest, AResumeStartsTheFileThatChangedWhileQuiesced) {
  make_ready();
  quiesce();
  const auto old = module;
  module = std::make_shared<FakeModule>(core);
  module->about.sha256 = "another";
  module->devices = old->devices;
  supervisor.renew();
  settle();
  EXPECT_EQ(loads, 1);
  ASSERT_TRUE(**order(ModuleVerb::kResume));
  EXPECT_EQ(old->count<ResumeCall>(), 0);
  EXPECT_EQ(old->count<StopCall>(), 1);
  EXPECT_EQ(supervisor.module().value(), module);
}

TEST_F(QuiesceTest, AnInstanceThatDoesNotTakeItsHardwareBackIsReplacedByAFreshOne) {
  make_ready();
  quiesce();
  module->fail<ResumeCall>(Error{Code::kInternal, "driver/library version mismatch"});
  ASSERT_TRUE(**order(ModuleVerb::kResume));
  EXPECT_EQ(loads, 2);
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
}

TEST_F(QuiesceTest, AFailedResumeIsReportedAndTriedAgain) {
  module->about.has_quiesce = false;
  make_ready();
  quiesce();
  module->fail<StartCall>(Error{Code::kUnavailable, "no driver loaded"});
  const auto done = order(ModuleVerb::kResume);
  ASSERT_TRUE(*done);
  EXPECT_THAT((*done)->error().message, HasSubstr("does not start: no driver loaded"));
  EXPECT_EQ(supervisor.state(), ModuleState::kBackingOff);
  clock.advance(1s);
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
}

TEST_F(QuiesceTest, AQuiescedModuleThatWasBackingOffIsNotTriedAgain) {
  module->fail<StartCall>(Error{Code::kUnavailable, "no driver loaded"});
  settle();
  ASSERT_EQ(supervisor.state(), ModuleState::kBackingOff);
  quiesce();
  clock.advance(10min);
  settle();
  EXPECT_EQ(loads, 1);
  ASSERT_TRUE(**order(ModuleVerb::kResume));
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
}

TEST_F(QuiesceTest, AModuleQuiescedBeforeTheDaemonStartedIsNotStarted) {
  ASSERT_TRUE(marks.set("fake", {"alice", "driver 580", clock.wall()}));
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kQuiesced);
  EXPECT_TRUE(supervisor.settled()) << "the daemon does not wait for its devices";
  EXPECT_EQ(supervisor.module().error().message, kModuleQuiesced);
  EXPECT_EQ(loads, 0);
  ASSERT_TRUE(**order(ModuleVerb::kResume));
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
}

TEST_F(QuiesceTest, CommandsThatDoNotFitTheStateAreRefused) {
  make_ready();
  EXPECT_EQ((*order(ModuleVerb::kResume))->error().message, "module 'fake' is not quiesced, it is ready");
  quiesce();
  EXPECT_TRUE(**order(ModuleVerb::kQuiesce)) << "a repeat succeeds";
  EXPECT_EQ((*order(ModuleVerb::kRestart))->error().message, kModuleQuiesced);
  EXPECT_EQ(module->count<QuiesceCall>(), 1);
}

TEST_F(QuiesceTest, OneCommandAtATime) {
  make_ready();
  module->block<FakeModule::FinishCalls>();
  const auto first = order(ModuleVerb::kQuiesce);
  const auto second = order(ModuleVerb::kResume);
  ASSERT_TRUE(*second);
  EXPECT_EQ((*second)->error().message, "module 'fake' is being quiesced; try again when that is done");
  module->unblock<FakeModule::FinishCalls>();
  settle();
  EXPECT_TRUE(*first);
}

TEST_F(QuiesceTest, ACommandThatTimesOutBeforeItBeginsChangesNothing) {
  module->block<StartCall>();
  settle();
  const auto done = order(ModuleVerb::kQuiesce, 1ms);
  clock.advance(1ms);
  settle();
  ASSERT_TRUE(*done);
  EXPECT_EQ((*done)->error().message,
            "module 'fake' is not quiesced: the module was still starting at the deadline; nothing changed");
  module->unblock<StartCall>();
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
}

TEST_F(QuiesceTest, AQuiescedModuleIsStoppedWithItsSupervisor) {
  make_ready();
  quiesce();
  run(supervisor.stop());
  EXPECT_EQ(module->count<StopCall>(), 1);
  EXPECT_EQ(supervisor.state(), ModuleState::kStopped);
}

class RestartTest : public SupervisorFixture {};

TEST_F(RestartTest, ARunningModuleGetsAFreshInstance) {
  settle();
  const auto done = order(ModuleVerb::kRestart);
  ASSERT_TRUE(*done);
  EXPECT_TRUE(**done);
  EXPECT_EQ(module->count<StopCall>(), 1);
  EXPECT_EQ(loads, 2);
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
  EXPECT_EQ(module->reconciled.size(), 2u);
}

TEST_F(RestartTest, ARestartEndsTheBackOffAndReportsTheOutcome) {
  module->fail<StartCall>(Error{Code::kUnavailable, "no driver loaded"}, 2);
  settle();
  const auto failed = order(ModuleVerb::kRestart);
  ASSERT_TRUE(*failed);
  EXPECT_THAT((*failed)->error().message, HasSubstr("no driver loaded"));
  EXPECT_EQ(supervisor.state(), ModuleState::kBackingOff);
  const auto done = order(ModuleVerb::kRestart);
  ASSERT_TRUE(*done);
  EXPECT_TRUE(**done);
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
}

}  // namespace
}  // namespace cardcage
