#include "host/view/module_report.h"

#include <gtest/gtest.h>

namespace cardcage {
namespace {

Level level_of(ModuleState state) { return module_condition({.state = state}).level; }

TEST(ModuleConditionTest, TheStateDecidesTheLevel) {
  EXPECT_EQ(level_of(ModuleState::kReady), Level::kGood);
  EXPECT_EQ(level_of(ModuleState::kStarting), Level::kInProgress);
  EXPECT_EQ(level_of(ModuleState::kQuiesced), Level::kInProgress);
  EXPECT_EQ(level_of(ModuleState::kStopped), Level::kInProgress);
  EXPECT_EQ(level_of(ModuleState::kBackingOff), Level::kBad);
  EXPECT_EQ(level_of(ModuleState::kBroken), Level::kBad);
  EXPECT_EQ(level_of(ModuleState::kStuck), Level::kBad);
}

TEST(ModuleConditionTest, NamesTheStateAndItsCause) {
  EXPECT_EQ(module_condition({.state = ModuleState::kBackingOff, .detail = "no card"}),
            (Condition{Level::kBad, "backing off", "no card"}));
}

TEST(ModuleConditionTest, AModuleThatRunsWithAnOlderConfigurationIsBad) {
  EXPECT_EQ(module_condition({.state = ModuleState::kReady, .detail = "no such mode", .refused = "no such mode"}),
            (Condition{Level::kBad, "ready", "no such mode"}));
}

TEST(ModuleConditionTest, DrainingHidesTheState) {
  EXPECT_EQ(module_condition({.state = ModuleState::kReady, .draining = "1 claim holds its devices"}),
            (Condition{Level::kInProgress, "draining", "1 claim holds its devices"}));
}

TEST(ReloadOutcomeTest, AModuleThatStartedIsReadyWithoutAnOldError) {
  EXPECT_EQ(reload_outcome({.state = ModuleState::kReady, .detail = "an old error"}),
            (Condition{Level::kGood, "ready", ""}));
}

TEST(ReloadOutcomeTest, AnOpenOutcomeIsInProgress) {
  const Condition outcome = reload_outcome({.state = ModuleState::kReady, .undecided = true});
  EXPECT_EQ(outcome.level, Level::kInProgress);
  EXPECT_EQ(outcome.reason, "starting");
}

TEST(ReloadOutcomeTest, ARefusedConfigurationIsBadThoughTheOldInstanceIsReady) {
  EXPECT_EQ(reload_outcome({.state = ModuleState::kReady, .refused = "no such option"}),
            (Condition{Level::kBad, "refused", "no such option"}));
}

TEST(ReloadOutcomeTest, AModuleThatDrainsIsNotWaitedFor) {
  EXPECT_EQ(reload_outcome({.draining = "it was removed", .undecided = true}).reason, "draining");
}

TEST(ReloadOutcomeTest, AFailedStartTellsWhy) {
  EXPECT_EQ(reload_outcome({.state = ModuleState::kBroken, .detail = "no card"}),
            (Condition{Level::kBad, "broken", "no card"}));
}

TEST(ReloadOutcomeTest, ARemovedModuleIsGone) { EXPECT_EQ(gone_condition().level, Level::kGood); }

}  // namespace
}  // namespace cardcage
