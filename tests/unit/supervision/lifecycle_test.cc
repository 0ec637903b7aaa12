#include "host/supervision/lifecycle.h"

#include <gmock/gmock.h>

#include "tests/fakes/fake_clock.h"
#include "tests/unit/supervision/config_with_mode.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using Step = Lifecycle::Step;
using namespace std::chrono_literals;

class LifecycleTest : public ::testing::Test {
 protected:
  void make_ready() {
    life.start();
    life.begin_start();
    life.offer();
    life.serve();
  }
  void fail_start() {
    life.start();
    life.lose({Code::kUnavailable, "no driver loaded"});
    life.back_off(1s);
    life.begin_pause();
  }
  void fail_start_of_ready() {
    if (life.state() != ModuleState::kReady) make_ready();
    life.lose({Code::kUnavailable, "killed"});
    life.back_off(1s);
    life.begin_pause();
  }
  void quiesce() { life.set_quiesced({"alice", "driver 580", clock.wall()}); }

  FakeClock clock;
  int changes = 0;
  Lifecycle life{ModuleConfig{.name = "fake"}, clock, [this] { ++changes; }};
};

TEST_F(LifecycleTest, AnInstanceIsOfferedOnceItHasListedItsDevices) {
  EXPECT_EQ(life.state(), ModuleState::kStarting);
  EXPECT_EQ(life.next_step(false), Step::kRunInstance);
  EXPECT_EQ(life.usable().error().message, "module 'fake' is starting: it has not started yet");
  life.start();
  EXPECT_FALSE(life.settled());
  EXPECT_FALSE(life.usable());
  life.offer();
  EXPECT_EQ(life.state(), ModuleState::kStarting);
  EXPECT_TRUE(life.usable());
  EXPECT_TRUE(life.undecided());
  life.serve();
  EXPECT_EQ(life.state(), ModuleState::kReady);
  EXPECT_TRUE(life.settled());
  EXPECT_FALSE(life.undecided());
  EXPECT_FALSE(life.health_while_away());
  EXPECT_EQ(changes, 3);
}

TEST_F(LifecycleTest, AFailedStartIsTriedAgainAfterAPause) {
  fail_start();
  EXPECT_EQ(life.state(), ModuleState::kBackingOff);
  EXPECT_TRUE(life.settled());
  EXPECT_EQ(life.restarts(), 1);
  EXPECT_EQ(life.usable().error().message, "module 'fake' is backing off: no driver loaded");
  EXPECT_EQ(life.warning(), "module 'fake' is backing off: no driver loaded");
  EXPECT_EQ(life.health_while_away()->health.reason, "ModuleAway");
  EXPECT_EQ(life.next_step(false), Step::kWaitBeforeRetry);
  clock.advance(1s);
  EXPECT_EQ(life.next_step(false), Step::kRunInstance);
  make_ready();
  EXPECT_FALSE(life.last_error());
  EXPECT_EQ(life.detail(), "");
}

TEST_F(LifecycleTest, ANewFileEndsThePauseAndForgivesFailures) {
  for (int i = 0; i < 10; ++i) fail_start();
  EXPECT_EQ(life.state(), ModuleState::kBroken);
  EXPECT_THAT(life.warning(), HasSubstr("is broken"));
  EXPECT_EQ(life.health_while_away()->health.reason, "ModuleBroken");
  EXPECT_EQ(life.health_while_away()->health.taint, TaintEffect::kNoSchedule);
  life.request_trial();
  EXPECT_EQ(life.next_step(false), Step::kRunInstance);
  fail_start();
  EXPECT_EQ(life.state(), ModuleState::kBackingOff);
}

TEST_F(LifecycleTest, ALostInstanceIsNotUsable) {
  make_ready();
  life.lose({Code::kUnavailable, "killed by signal 11"});
  EXPECT_EQ(life.usable().error().message, "module 'fake' is ready: killed by signal 11");
  EXPECT_EQ(life.health_while_away()->health.message, "killed by signal 11");
  life.back_off(1s);
  EXPECT_FALSE(life.lost());
  EXPECT_EQ(life.last_error()->message, "killed by signal 11");
}

TEST_F(LifecycleTest, TellsSinceWhenAModuleIsAwayForAMoment) {
  fail_start();
  EXPECT_FALSE(life.away_since()) << "it never ran";
  clock.advance(1s);
  make_ready();
  EXPECT_FALSE(life.away_since());
  const Instant lost = clock.now();
  life.lose({Code::kUnavailable, "killed by signal 9"});
  EXPECT_EQ(life.away_since(), lost);
  life.back_off(1s);
  clock.advance(3s);
  fail_start();
  EXPECT_EQ(life.away_since(), lost) << "a failed attempt does not count";
  quiesce();
  EXPECT_FALSE(life.away_since()) << "an operator decides when it returns";
  life.clear_quiesced();
  make_ready();
  EXPECT_FALSE(life.away_since());
  for (int i = 0; i < 10; ++i) fail_start_of_ready();
  EXPECT_EQ(life.state(), ModuleState::kBroken);
  EXPECT_FALSE(life.away_since());
}

TEST_F(LifecycleTest, KnowsWhetherAModuleMayReturnInTime) {
  EXPECT_TRUE(life.returns_by(clock.now())) << "it is starting";
  fail_start();
  EXPECT_TRUE(life.returns_by(clock.now() + 2s));
  EXPECT_FALSE(life.returns_by(clock.now() + 500ms)) << "the pause is longer";
  make_ready();
  EXPECT_FALSE(life.returns_by(clock.now() + 2s)) << "it is running";
  life.block("a thread is stuck");
  EXPECT_FALSE(life.returns_by(clock.now() + 2s));
}

TEST_F(LifecycleTest, ALeftoverComesBeforeAllButAStop) {
  fail_start();
  quiesce();
  EXPECT_EQ(life.next_step(true), Step::kWaitUntilUnstuck);
  life.block("a thread is stuck");
  EXPECT_EQ(life.state(), ModuleState::kStuck);
  EXPECT_EQ(life.detail(), "a thread is stuck");
  EXPECT_EQ(life.warning(), "a thread is stuck");
  EXPECT_EQ(life.health_while_away()->health.reason, "Quiesced") << "an operator's command explains more";
  const int before = changes;
  life.block("a thread is stuck");
  EXPECT_EQ(changes, before);
  life.unblock();
  EXPECT_EQ(life.next_step(false), Step::kStayQuiesced);
  life.clear_quiesced();
  EXPECT_EQ(life.next_step(false), Step::kRunInstance) << "the pause is over";
}

TEST_F(LifecycleTest, ABrokenModuleIsBrokenAgainAfterItWasStuck) {
  for (int i = 0; i < 10; ++i) fail_start();
  life.block("a thread is stuck");
  life.unblock();
  EXPECT_EQ(life.next_step(false), Step::kWaitBeforeRetry);
  life.await_retry();
  EXPECT_EQ(life.state(), ModuleState::kBroken);
}

TEST_F(LifecycleTest, NobodyUsesAModuleThatIsQuiesced) {
  make_ready();
  quiesce();
  const std::string text =
      "module 'fake' is quiesced by alice since 2027-01-15T08:00:00Z (driver 580); "
      "'cagectl module resume fake' takes it back into service";
  EXPECT_EQ(life.state(), ModuleState::kReady) << "open calls may still run";
  EXPECT_EQ(life.usable().error().message, text);
  EXPECT_EQ(life.detail(), "by alice since 2027-01-15T08:00:00Z (driver 580)");
  EXPECT_EQ(life.warning(), text);
  EXPECT_EQ(life.health_while_away()->health.taint, TaintEffect::kNoSchedule);
  life.request_trial();
  EXPECT_EQ(life.next_step(false), Step::kStayQuiesced);
  life.stay_quiesced();
  EXPECT_EQ(life.state(), ModuleState::kQuiesced);
  EXPECT_FALSE(life.undecided());
  life.clear_quiesced();
  EXPECT_EQ(life.next_step(false), Step::kRunInstance);
}

TEST_F(LifecycleTest, ARefusalIsForgottenWhenItsConfigurationIsTakenBack) {
  make_ready();
  life.configure(with_mode("b"));
  EXPECT_TRUE(life.undecided());
  life.begin_trial();
  life.refuse_trial({Code::kInvalidArgument, "mode 'b' is not known"});
  EXPECT_FALSE(life.undecided());
  EXPECT_EQ(
      life.detail(),
      "the new configuration of module 'fake' is not taken over: mode 'b' is not known; the old one stays in use, but "
      "after a restart the module will not start");
  EXPECT_FALSE(life.runs_as_wanted());
  life.configure(ModuleConfig{.name = "fake"});
  EXPECT_FALSE(life.last_error());
  EXPECT_TRUE(life.runs_as_wanted());
}

TEST_F(LifecycleTest, ARefusedFileIsNotForgottenWhenTheConfigurationIsReadAgain) {
  make_ready();
  life.request_trial();
  life.begin_trial();
  life.refuse_trial({Code::kUnavailable, "no driver loaded"});
  life.configure(ModuleConfig{.name = "fake"});
  EXPECT_EQ(life.detail(),
            "the new file of module 'fake' is not taken over: no driver loaded; the old one stays in use, but after a "
            "restart the module will not start");
  EXPECT_FALSE(life.target().refused());
}

TEST_F(LifecycleTest, ARefusedFileIsRememberedUntilTheFileIsGoodAgain) {
  make_ready();
  life.request_trial();
  life.begin_trial();
  life.refuse_trial({Code::kInvalidArgument, "it is empty"});
  life.fail_discover({Code::kUnavailable, "bus error"});
  life.pass_discover();
  EXPECT_THAT(life.refused()->message, HasSubstr("it is empty"));
  EXPECT_FALSE(life.runs_as_wanted());
  life.request_trial();
  life.begin_trial();
  life.confirm_file();
  EXPECT_FALSE(life.refused());
  EXPECT_FALSE(life.last_error());
  EXPECT_TRUE(life.runs_as_wanted());
}

TEST_F(LifecycleTest, AModuleThatDoesNotStartDoesNotRunAsWanted) {
  life.start();
  life.lose({Code::kInvalidArgument, "mode 'b' is not known"});
  life.back_off(0s);
  EXPECT_FALSE(life.runs_as_wanted());
}

TEST_F(LifecycleTest, AModuleThatCrashesRunsAsWanted) {
  make_ready();
  life.lose({Code::kUnavailable, "killed by signal 11"});
  life.back_off(0s);
  EXPECT_TRUE(life.runs_as_wanted());
}

TEST_F(LifecycleTest, ATakeOverReplacesALostInstance) {
  make_ready();
  life.configure(with_mode("b"));
  life.begin_trial();
  life.lose({Code::kUnavailable, "killed by signal 11"});
  life.accept_trial();
  EXPECT_TRUE(life.usable());
  EXPECT_EQ(life.config(), with_mode("b"));
}

TEST_F(LifecycleTest, ARestartIsNotAFailure) {
  make_ready();
  life.restart();
  EXPECT_EQ(life.state(), ModuleState::kStarting);
  EXPECT_TRUE(life.settled());
  EXPECT_FALSE(life.usable());
  EXPECT_EQ(life.restarts(), 1);
  EXPECT_EQ(life.restart_policy().recent_failures(clock.now()), 0u);
  EXPECT_EQ(life.next_step(false), Step::kRunInstance);
}

TEST_F(LifecycleTest, AStopComesFirst) {
  life.request_stop();
  EXPECT_EQ(life.next_step(true), Step::kStop);
  life.stop();
  EXPECT_EQ(life.state(), ModuleState::kStopped);
  EXPECT_FALSE(life.undecided());
}

TEST_F(LifecycleTest, ATransitionThatThePhaseDoesNotAllowAborts) {
  EXPECT_DEATH(life.restart(), "transition=restart");
  EXPECT_DEATH(life.serve(), "transition=serve");
  make_ready();
  EXPECT_DEATH(life.start(), "transition=start");
  EXPECT_DEATH(life.back_off(1s), "transition=back_off");
  EXPECT_DEATH(life.await_retry(), "transition=await_retry");
}

}  // namespace
}  // namespace cardcage
