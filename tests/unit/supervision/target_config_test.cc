#include "host/supervision/target_config.h"

#include <gtest/gtest.h>

#include "tests/unit/supervision/config_with_mode.h"

namespace cardcage {
namespace {

const Error kRefusal{Code::kInvalidArgument, "mode 'b' is not known"};

class TargetConfigTest : public ::testing::Test {
 protected:
  TargetConfig target{with_mode("a")};
};

TEST_F(TargetConfigTest, TheSameConfigurationAsksForNothing) {
  target.configure(with_mode("a"));
  EXPECT_FALSE(target.undecided());
  EXPECT_FALSE(target.trial_requested());
  EXPECT_EQ(target.wanted(), with_mode("a"));
}

TEST_F(TargetConfigTest, ADifferentConfigurationRunsOnceItsTrialIsAccepted) {
  target.configure(with_mode("b"));
  EXPECT_TRUE(target.trial_requested());
  EXPECT_EQ(target.running(), with_mode("a"));
  EXPECT_EQ(target.begin_trial(), with_mode("b"));
  EXPECT_FALSE(target.trial_requested());
  EXPECT_TRUE(target.undecided());
  EXPECT_FALSE(target.trial_is_outdated());
  target.accept_trial();
  EXPECT_EQ(target.running(), with_mode("b"));
  EXPECT_FALSE(target.undecided());
}

TEST_F(TargetConfigTest, ARefusedConfigurationStaysWantedForTheNextTrial) {
  target.configure(with_mode("b"));
  target.begin_trial();
  target.refuse_trial(kRefusal);
  EXPECT_EQ(target.refused(), kRefusal);
  EXPECT_FALSE(target.undecided());
  EXPECT_EQ(target.wanted(), with_mode("b"));
  target.request_trial();
  EXPECT_EQ(target.begin_trial(), with_mode("b"));
  EXPECT_FALSE(target.refused());
}

TEST_F(TargetConfigTest, ARefusedConfigurationIsNotUsedForAStartThatNobodyRequested) {
  target.configure(with_mode("b"));
  target.begin_trial();
  target.refuse_trial(kRefusal);
  EXPECT_EQ(target.begin_start(), with_mode("a"));
  EXPECT_TRUE(target.refused());
  target.request_trial();
  EXPECT_EQ(target.begin_start(), with_mode("b"));
  EXPECT_FALSE(target.refused());
}

TEST_F(TargetConfigTest, ATrialIsOutdatedWhenAnotherConfigurationIsWanted) {
  target.configure(with_mode("b"));
  target.begin_trial();
  target.configure(with_mode("c"));
  EXPECT_TRUE(target.trial_is_outdated());
  target.drop_trial();
  EXPECT_TRUE(target.undecided());
  EXPECT_EQ(target.begin_trial(), with_mode("c"));
  target.configure(with_mode("a"));
  EXPECT_TRUE(target.trial_is_outdated()) << "the running configuration is wanted again";
  target.drop_trial();
  EXPECT_FALSE(target.undecided());
}

TEST_F(TargetConfigTest, AFileOnTrialIsOutdatedWhenAConfigurationComes) {
  target.request_trial();
  EXPECT_EQ(target.begin_trial(), with_mode("a"));
  EXPECT_FALSE(target.has_candidate());
  target.configure(with_mode("b"));
  EXPECT_TRUE(target.trial_is_outdated());
}

TEST_F(TargetConfigTest, RulesCountAtOnceAlsoDuringATrial) {
  ModuleConfig config = with_mode("b");
  target.configure(config);
  target.begin_trial();
  config.serve.push_back({.driver = "gpu.example.com"});
  target.configure(config);
  EXPECT_EQ(target.running().serve.size(), 1u);
  EXPECT_FALSE(target.trial_is_outdated());
  target.accept_trial();
  EXPECT_EQ(target.running().serve.size(), 1u);
}

TEST_F(TargetConfigTest, AnAcceptedTrialRunsEvenIfAnotherConfigurationIsWantedByNow) {
  target.configure(with_mode("b"));
  target.begin_trial();
  target.configure(with_mode("a"));
  target.accept_trial();
  EXPECT_EQ(target.running(), with_mode("b"));
  EXPECT_EQ(target.wanted(), with_mode("a"));
  EXPECT_TRUE(target.trial_requested());
  EXPECT_EQ(target.begin_trial(), with_mode("a"));
  target.configure(with_mode("c"));
  target.accept_trial();
  EXPECT_EQ(target.running(), with_mode("a"));
  EXPECT_EQ(target.begin_trial(), with_mode("c"));
}

}  // namespace
}  // namespace cardcage
