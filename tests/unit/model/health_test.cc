#include "host/model/health.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace cardcage {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

std::chrono::system_clock::time_point at(int second) { return std::chrono::system_clock::time_point(seconds(second)); }

Health health(const std::string& cause, HealthState state, const std::string& reason = "",
              TaintEffect taint = TaintEffect::kNone) {
  return {
      .state = state, .reason = reason, .message = reason.empty() ? "" : reason + "!", .taint = taint, .cause = cause};
}

std::vector<std::string> order(const DeviceHealth& device) {
  std::vector<std::string> causes;
  for (const CauseHealth& cause : device.causes) causes.push_back(cause.health.cause);
  return causes;
}

TEST(HealthTest, TheWorstCauseIsTheHealthOfTheDevice) {
  const CauseHealth bad{health("Ecc", HealthState::kUnhealthy, "Dbe"), at(1)};
  const CauseHealth unknown{health("Link", HealthState::kUnknown, "Silent"), at(2)};
  const CauseHealth unwatched{health("Fan", HealthState::kUnmonitored), at(3)};
  const CauseHealth good{health("", HealthState::kHealthy), at(4)};
  EXPECT_EQ(compose({good, unwatched, unknown, bad}).health, bad.health);
  EXPECT_THAT(order(compose({good, unwatched, unknown, bad})), ElementsAre("Ecc", "Link", "Fan", ""));
  EXPECT_EQ(compose({good, unwatched, unknown}).health, unknown.health);
  EXPECT_EQ(compose({good, unwatched}).health, unwatched.health);
  EXPECT_EQ(compose({good}).health, good.health);
  EXPECT_EQ(compose({}).health, Health{});
}

TEST(HealthTest, AmongEqualStatesAReasonAndThenTheTaintCounts) {
  const CauseHealth silent{health("Link", HealthState::kUnknown, "Silent"), at(1)};
  const CauseHealth nothing{health("Ecc", HealthState::kUnknown, "", TaintEffect::kNoExecute), at(1)};
  const CauseHealth tainted{health("Xid", HealthState::kUnknown, "Xid79", TaintEffect::kNoSchedule), at(1)};
  EXPECT_THAT(order(compose({nothing, silent, tainted})), ElementsAre("Xid", "Link", "Ecc"));
  EXPECT_EQ(strongest_taint({silent, nothing, tainted}), TaintEffect::kNoExecute);
  EXPECT_EQ(strongest_taint({silent}), TaintEffect::kNone);
}

TEST(HealthTest, AHealthyCauseHasNoTaint) {
  EXPECT_EQ(strongest_taint({{health("Ecc", HealthState::kHealthy, "", TaintEffect::kNoExecute), at(1)}}),
            TaintEffect::kNone);
}

TEST(HealthTest, TheMessageNamesTheOtherBadCauses) {
  std::vector<CauseHealth> causes = {{health("Ecc", HealthState::kUnhealthy, "Dbe"), at(1)},
                                     {health("Fan", HealthState::kUnhealthy), at(1)}};
  EXPECT_EQ(compose(causes).health.message, "Dbe!; and 1 more: Fan");
  for (const char* cause : {"Link", "Pcie", "Power"})
    causes.push_back({health(cause, HealthState::kUnhealthy, cause), at(1)});
  EXPECT_EQ(compose(causes).health.message, "Dbe!; and 4 more: Link, Pcie, Power, ...");
  causes[0].health.message = std::string(1024, 'x');
  const std::string message = compose(causes).health.message;
  EXPECT_EQ(message.size(), 1024u);
  EXPECT_THAT(message, EndsWith("x...; and 4 more: Link, Pcie, Power, ..."));
}

TEST(HealthTest, ADeviceIsAsItIsSinceTheLastChangeOfACauseInItsState) {
  const CauseHealth good{health("", HealthState::kHealthy), at(1)}, healed{health("Ecc", HealthState::kHealthy), at(5)};
  EXPECT_EQ(compose({good, healed}).changed, at(5));
  EXPECT_EQ(compose({{health("Fan", HealthState::kUnhealthy), at(3)}, healed}).changed, at(3));
}

TEST(HealthTest, AWorseCauseTakesTheRoomOfTheLeastOne) {
  Statements statements;
  for (std::size_t i = 0; i < kMaxCauses; ++i)
    EXPECT_TRUE(put(statements, health(fmt::format("Ok{}", i), HealthState::kHealthy)));
  EXPECT_FALSE(put(statements, health("More", HealthState::kHealthy))) << "it is not worse";
  EXPECT_TRUE(put(statements, health("Ok3", HealthState::kUnknown, "Odd"))) << "a known cause always has room";
  for (std::size_t i = 0; i < kMaxCauses; ++i)
    EXPECT_TRUE(put(statements, health(fmt::format("Bad{}", i), HealthState::kUnhealthy)));
  EXPECT_FALSE(put(statements, health("Bad99", HealthState::kUnhealthy))) << "a bad cause is never dropped for another";
  EXPECT_EQ(statements.size(), kMaxCauses);
  for (const auto& [cause, statement] : statements) EXPECT_EQ(statement.state, HealthState::kUnhealthy) << cause;
}

TEST(HealthTest, ACauseThatIsWaitedForKeepsItsRoomLonger) {
  Statements statements;
  for (std::size_t i = 0; i < kMaxCauses; ++i) {
    Health one = health(fmt::format("Ok{:02}", i), HealthState::kHealthy);
    one.timeout = seconds(i == 7 ? 0 : 30);
    EXPECT_TRUE(put(statements, one));
  }
  EXPECT_TRUE(put(statements, health("Fan", HealthState::kUnhealthy)));
  EXPECT_FALSE(statements.contains("Ok07"));
}

TEST(HealthTest, TheKubeletIsToldTheWorstThatACauseAmountsToOrItsRuleSays) {
  EXPECT_EQ(told_to_kubelet(DeviceHealth{}), KubeletHealth::kUnknown);
  const auto told = [](std::vector<CauseHealth> causes) { return told_to_kubelet(compose(std::move(causes))); };
  CauseHealth degraded{{.state = HealthState::kDegraded}, {}}, unknown{{.state = HealthState::kUnmonitored}, {}},
      bad{{.state = HealthState::kUnhealthy}, {}};
  EXPECT_EQ(told({degraded}), KubeletHealth::kHealthy);
  EXPECT_EQ(told({degraded, unknown}), KubeletHealth::kUnknown);
  EXPECT_EQ(told({unknown, bad, degraded}), KubeletHealth::kUnhealthy);
  bad.kubelet = KubeletHealth::kHealthy;
  EXPECT_EQ(told({bad, degraded}), KubeletHealth::kHealthy);
  degraded.kubelet = KubeletHealth::kUnhealthy;
  EXPECT_EQ(told({bad, degraded}), KubeletHealth::kUnhealthy);
}

}  // namespace
}  // namespace cardcage
