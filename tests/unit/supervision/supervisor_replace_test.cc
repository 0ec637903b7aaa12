// Replacement of an instance, and the last good build.
#include "tests/unit/supervision/supervisor_fixture.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class SupervisorReplaceTest : public SupervisorFixture {};

TEST_F(SupervisorReplaceTest, RunningCallsEndInTheOldInstanceBeforeItIsStopped) {
  settle();
  const auto old = module;
  old->block<FakeModule::FinishCalls>();
  module = std::make_shared<FakeModule>(core);
  module->devices = old->devices;
  module->about.sha256 = "another";
  supervisor.renew();
  settle();
  EXPECT_EQ(supervisor.module().value(), module) << "new calls go to the new instance";
  EXPECT_EQ(old->count<StopCall>(), 0);

  const auto quiesced = order(ModuleVerb::kQuiesce);
  EXPECT_FALSE(*quiesced) << "the old instance still uses the hardware";
  old->unblock<FakeModule::FinishCalls>();
  settle();
  EXPECT_EQ(old->count<StopCall>(), 1);
  ASSERT_TRUE(*quiesced);
  EXPECT_TRUE(**quiesced);
}

TEST_F(SupervisorReplaceTest, StopsAnOldInstanceThatStillHasCalls) {
  settle();
  const auto old = module;
  old->block<FakeModule::FinishCalls>();
  module = std::make_shared<FakeModule>(core);
  module->about.sha256 = "another";
  supervisor.renew();
  settle();
  run(supervisor.stop());
  EXPECT_GE(old->count<StopCall>(), 1);
  EXPECT_EQ(module->count<StopCall>(), 1);
}

TEST_F(SupervisorReplaceTest, GoesBackToTheOldInstanceIfTheNewOneCannotReconcile) {
  settle();
  const auto old = module;
  const auto take_over = [&](const std::function<void()>& request) {
    module = std::make_shared<FakeModule>(core);
    module->about.sha256 = "another";
    module->about.version = "2.0.0";
    module->devices.devices = {Device{.id = "gpu-7", .name = "gpu-7", .kind = "gpu"}};
    module->fail<ReconcileCall>(Error{Code::kInternal, "state version 2 is unknown"});
    request();
    settle();
    EXPECT_EQ(supervisor.module().value(), old);
    EXPECT_EQ(supervisor.state(), ModuleState::kReady);
    EXPECT_EQ(supervisor.identity()->version, "1.0.0");
    EXPECT_EQ(device().id, "gpu-0");
    EXPECT_EQ(module->count<StopCall>(), 1);
    EXPECT_EQ(old->count<StopCall>(), 0);
    EXPECT_THAT(supervisor.last_error()->message, HasSubstr("state version 2 is unknown"));
  };
  take_over([&] { supervisor.renew(); });
  EXPECT_THAT(supervisor.refused()->message, HasSubstr("the new file of module 'fake' is not taken over"));
  take_over([&] { supervisor.configure(with_option("b"), {}); });
  ASSERT_TRUE(supervisor.refused());
  EXPECT_THAT(supervisor.refused()->message, HasSubstr("the new configuration of module 'fake' is not taken over"));
  EXPECT_EQ(supervisor.config().options.size(), 0u);
  EXPECT_EQ(supervisor.wanted(), with_option("b"));
}

class LiveOptionsTest : public SupervisorReplaceTest {
 protected:
  LiveOptionsTest() {
    module->about.families.add(Family::kConfigure);
    module->about.options = {{.name = "mode", .live = true}};
    settle();
  }
  std::string mode() const { return std::get<std::string>(module->configured.entries.at("mode").value); }
};

TEST_F(LiveOptionsTest, ReachTheRunningInstance) {
  supervisor.configure(with_option("b"), {});
  settle();
  EXPECT_EQ(mode(), "b");
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(supervisor.config(), with_option("b"));
  EXPECT_FALSE(supervisor.undecided());
  supervisor.configure(ModuleConfig{.name = "fake"}, {});
  settle();
  EXPECT_EQ(mode(), "") << "mode has its default";
}

TEST_F(LiveOptionsTest, ARefusalLeavesTheInstanceAsItWas) {
  module->fail<ConfigureCall>(Error{Code::kInvalidArgument, "mode 'b' is not known"});
  supervisor.configure(with_option("b"), {});
  settle();
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
  EXPECT_EQ(supervisor.config(), ModuleConfig{.name = "fake"});
  ASSERT_TRUE(supervisor.refused());
  EXPECT_THAT(supervisor.refused()->message,
              HasSubstr("the new configuration of module 'fake' is not taken over: mode 'b' is not known; "));
}

TEST_F(LiveOptionsTest, TheNewestOnesWinEvenIfTheyComeDuringTheCall) {
  module->block<ConfigureCall>();
  supervisor.configure(with_option("b"), {});
  settle();
  supervisor.configure(ModuleConfig{.name = "fake"}, {});
  settle();
  module->unblock<ConfigureCall>();
  settle();
  EXPECT_EQ(module->count<ConfigureCall>(), 2);
  EXPECT_EQ(mode(), "");
  EXPECT_EQ(supervisor.config(), ModuleConfig{.name = "fake"});
}

TEST_F(LiveOptionsTest, ACrashIsARefusal) {
  module->block<ConfigureCall>();
  module->fail<ConfigureCall>(Error{Code::kUnavailable, "crashed"});
  supervisor.configure(with_option("b"), {});
  settle();
  module->events.lost(Error{Code::kUnavailable, "crashed"});
  module->unblock<ConfigureCall>();
  settle();
  clock.advance(1s);
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
  EXPECT_EQ(loads, 2);
  EXPECT_EQ(supervisor.config(), ModuleConfig{.name = "fake"});
  ASSERT_TRUE(supervisor.refused());
  EXPECT_THAT(supervisor.refused()->message, HasSubstr("crashed"));
}

TEST_F(LiveOptionsTest, AnInstanceThatDoesNotAnswerInTimeIsReplaced) {
  module->fail<ConfigureCall>(Error{Code::kDeadlineExceeded, "it had no time for it, being busy with prepare"});
  supervisor.configure(with_option("b"), {});
  settle();
  EXPECT_EQ(loads, 2);
  EXPECT_EQ(supervisor.config(), with_option("b"));
  EXPECT_FALSE(supervisor.refused());
}

TEST_F(LiveOptionsTest, AnotherChangeNeedsANewInstance) {
  module->about.options = {};
  ModuleConfig confined = with_option("b");
  confined.process.seccomp = true;
  supervisor.configure(std::move(confined), {});
  settle();
  EXPECT_EQ(module->count<ConfigureCall>(), 0);
  EXPECT_EQ(loads, 2);
}

TEST_F(SupervisorReplaceTest, DoesNotGoBackToAnInstanceThatIsLost) {
  settle();
  const auto old = module;
  module = std::make_shared<FakeModule>(core);
  module->about.sha256 = "another";
  module->block<ReconcileCall>();
  module->fail<ReconcileCall>(Error{Code::kInternal, "state version 2 is unknown"});
  supervisor.renew();
  settle();
  old->events.lost(Error{Code::kUnavailable, "crashed"});
  module->unblock<ReconcileCall>();
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kBackingOff);
}

TEST_F(SupervisorReplaceTest, DoesNotGoBackToAnInstanceThatWasLostDuringTheTrial) {
  settle();
  const auto old = module;
  module = std::make_shared<FakeModule>(core);
  module->about.sha256 = "another";
  module->block<StartCall>();
  module->fail<ReconcileCall>(Error{Code::kInternal, "state version 2 is unknown"});
  supervisor.renew();
  settle();
  old->events.lost(Error{Code::kUnavailable, "crashed"});
  module->unblock<StartCall>();
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kBackingOff);
}

TEST_F(SupervisorReplaceTest, AModuleWithABrokenFileStartsFromTheBuildThatRanLast) {
  module->about.sha256 = "good";
  settle();
  broken_file = Error{Code::kInvalidArgument, "it is not an ELF file"};
  supervisor.renew();
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
  module->events.lost(Error{Code::kUnavailable, "crashed"});
  settle();
  clock.advance(1s);
  settle();
  ASSERT_EQ(supervisor.state(), ModuleState::kReady) << "to release its prepared claims";
  EXPECT_EQ(loaded_build->sha256, "good");
  EXPECT_THAT(supervisor.last_error()->message,
              HasSubstr("the new file of module 'fake' is not taken over: it is not an ELF file; "));

  broken_file.reset();
  module = std::make_shared<FakeModule>(core);
  module->about.sha256 = "mended";
  supervisor.renew();
  settle();
  EXPECT_EQ(supervisor.module().value(), module);
  EXPECT_FALSE(supervisor.last_error());
}

TEST_F(SupervisorReplaceTest, AnotherModuleIsNotTakenOver) {
  settle();
  const auto old = module;
  module = std::make_shared<FakeModule>(core);
  module->about.sha256 = "another";
  module->about.id = "com.example.other";
  supervisor.renew();
  settle();
  EXPECT_EQ(supervisor.module().value(), old);
  EXPECT_EQ(module->count<StartCall>(), 0) << "its code does not run";
  EXPECT_THAT(supervisor.refused()->message,
              AllOf(HasSubstr("is of module 'com.example.other'"), HasSubstr("those of module 'com.example.fake'"),
                    HasSubstr("give 'com.example.other' a [[module]] of its own")));
}

TEST_F(SupervisorReplaceTest, AnotherModuleDoesNotStartInThePlaceOfOneThatIsAway) {
  settle();
  const auto old = module;
  module = std::make_shared<FakeModule>(core);
  module->about.id = "com.example.other";
  old->events.lost(Error{Code::kUnavailable, "crashed"});
  settle();
  clock.advance(10s);
  settle();
  EXPECT_EQ(module->count<StartCall>(), 0);
  EXPECT_THAT(supervisor.last_error()->message, HasSubstr("those of module 'com.example.fake'"));
}

TEST_F(SupervisorReplaceTest, AnotherModuleDoesNotStartWithTheClaimsOfTheFormerOne) {
  claims_of = "com.example.former";
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kBackingOff);
  EXPECT_EQ(module->count<StartCall>(), 0);
  EXPECT_THAT(supervisor.last_error()->message, HasSubstr("those of module 'com.example.former'"));
  claims_of = "com.example.fake";
  supervisor.renew();
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
}

TEST_F(SupervisorReplaceTest, TwoBuildsOfOneVersionAreToldApartInTheLog) {
  module->about.sha256 = "digest-a";
  settle();
  module = std::make_shared<FakeModule>(core);
  module->about.sha256 = "digest-b";
  ::testing::internal::CaptureStderr();
  supervisor.renew();
  settle();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("version=1.0.0 sha256=digest-b before=digest-a"));
}

TEST_F(SupervisorReplaceTest, ARefusalEndsWhenTheFileOfTheRunningInstanceIsBack) {
  module->about.sha256 = "good";
  settle();
  broken_file = Error{Code::kInvalidArgument, "it is not an ELF file"};
  supervisor.renew();
  settle();
  EXPECT_FALSE(supervisor.runs_as_wanted());
  broken_file.reset();
  supervisor.renew();
  settle();
  EXPECT_EQ(loads, 1);
  EXPECT_TRUE(supervisor.runs_as_wanted());
  EXPECT_FALSE(supervisor.last_error());
}

TEST_F(SupervisorReplaceTest, AModuleWhoseNewFileDoesNotStartStartsFromTheBuildThatRanLast) {
  module->about.sha256 = "good";
  settle();
  const auto good = module;
  other_builds["good"] = good;
  const std::vector<std::string_view> steps = {StartCall::kName, DiscoverCall::kName, ReconcileCall::kName};
  for (const std::string_view step : steps) {
    module = std::make_shared<FakeModule>(core);
    module->about.sha256 = "bad";
    module->fail(step, Error{Code::kInternal, "this driver is too old"}, 100);
    module->block<StopCall>();
    good->events.lost(Error{Code::kUnavailable, "crashed"});
    settle();
    clock.advance(10s);
    settle();
    EXPECT_FALSE(supervisor.module()) << "the bad instance is being stopped";
    module->unblock<StopCall>();
    settle();
    ASSERT_EQ(supervisor.state(), ModuleState::kReady) << "to release its prepared claims";
    EXPECT_EQ(supervisor.module().value(), good);
    EXPECT_EQ(supervisor.identity()->sha256, "good");
    EXPECT_EQ(module->count<StopCall>(), 1);
    EXPECT_THAT(supervisor.last_error()->message,
                AllOf(HasSubstr("the new file of module 'fake' is not taken over"), HasSubstr("driver is too old")));
  }
  good->fail<StartCall>(Error{Code::kInternal, "no hardware"}, 100);
  good->events.lost(Error{Code::kUnavailable, "crashed"});
  settle();
  clock.advance(10s);
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kBackingOff);
  EXPECT_THAT(supervisor.last_error()->message, HasSubstr("driver is too old")) << "an operator can replace the file";
}

TEST_F(SupervisorReplaceTest, AModuleThatHasDrainedDoesNotStartFromItsLastBuild) {
  settle();
  broken_file = Error{Code::kNotFound, "no such file"};
  supervisor.drain("its file is gone");
  supervisor.end_drained();
  settle();
  clock.advance(1s);
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kBackingOff);
}

TEST_F(SupervisorReplaceTest, ABuildThatIsNotPinnedIsNotUsedInPlaceOfTheFile) {
  module->about.sha256 = "good";
  settle();
  const auto old = module;
  module->events.lost(Error{Code::kUnavailable, "crashed"});
  settle();
  broken_file = Error{Code::kFailedPrecondition, "its digest differs from the pinned one"};
  supervisor.configure(ModuleConfig{.name = "fake", .sha256 = "other"}, {});
  settle();
  EXPECT_EQ(supervisor.state(), ModuleState::kBackingOff);
  EXPECT_EQ(loads, 1);
}

}  // namespace
}  // namespace cardcage
