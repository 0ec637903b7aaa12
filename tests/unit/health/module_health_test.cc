#include "host/health/module_health.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_health_store.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

class ModuleHealthTest : public CoreFixture {
 protected:
  ModuleHealthTest() { restart(); }

  void restart() {
    module.emplace("gpus", clock, store, [this](const HealthEvent& event) { noted.push_back(event); });
  }
  void set_rule(HealthRuleConfig rule) {
    auto rules = HealthRules::make({}, true, {std::move(rule)});
    ASSERT_TRUE(rules);
    module->set_rules(*std::move(rules));
  }
  static Device device(std::string id, std::string parent = "") {
    return {.id = id, .name = "name-" + id, .parent_id = std::move(parent)};
  }
  bool list(std::vector<Device> devices) { return module->list({.devices = std::move(devices)}) != HealthNews::kNone; }
  // Steps the FakeClock, because two statements never occur at the same instant.
  bool state(const std::string& id, Health health) {
    clock.advance(1ms);
    return module->state(id, std::move(health)) != HealthNews::kNone;
  }
  static Health bad(std::string cause = "Link") {
    return {.state = HealthState::kUnhealthy, .reason = "Bad", .message = "broken", .cause = std::move(cause)};
  }
  static Health good(std::string cause = "Link") { return {.state = HealthState::kHealthy, .cause = std::move(cause)}; }
  HealthState health(const std::string& id, const std::string& parent = "") const {
    return module->health(device(id, parent)).health.state;
  }
  std::vector<HealthEventKind> kinds() const {
    std::vector<HealthEventKind> kinds;
    for (const HealthEvent& event : store.events) kinds.push_back(event.kind);
    return kinds;
  }
  CordonRecord cordon_of(std::string id) const {
    return {.device = {"gpus", std::move(id)},
            .name = "name-a",
            .by = "root",
            .reason = "noisy fan",
            .since = clock.wall()};
  }

  FakeClock clock;
  FakeHealthStore store;
  std::vector<HealthEvent> noted;
  std::optional<ModuleHealth> module;
};

TEST_F(ModuleHealthTest, StatementsAreNotedKeptAndForgotten) {
  list({device("a")});
  EXPECT_TRUE(state("a", bad()));
  EXPECT_EQ(health("a"), HealthState::kUnhealthy);
  ASSERT_EQ(store.records.size(), 1);
  EXPECT_TRUE(state("a", good()));
  EXPECT_EQ(health("a"), HealthState::kHealthy);
  EXPECT_EQ(kinds(), (std::vector{HealthEventKind::kBegan, HealthEventKind::kEnded}));
  EXPECT_EQ(noted, store.events);
  EXPECT_EQ(noted.front().name, "name-a");
  EXPECT_EQ(noted.front().message, "broken");
  clock.advance(10min);
  module->advance();
  EXPECT_TRUE(store.records.empty());
  EXPECT_GT(module->due(), clock.now());
}

TEST_F(ModuleHealthTest, RepetitionsAreWrittenAtMostOnceAMinute) {
  list({device("a")});
  for (int i = 0; i < 1000; ++i) {
    clock.advance(100ms);
    state("a", bad());
  }
  EXPECT_LE(store.writes, 3);
  EXPECT_GE(store.writes, 2);
  EXPECT_EQ(store.events.size(), 1);
}

TEST_F(ModuleHealthTest, UnknownDevicesAreRefusedAndParentsAreKnown) {
  EXPECT_FALSE(state("a", bad()));
  list({device("a", "board")});
  EXPECT_TRUE(module->knows("board"));
  EXPECT_FALSE(module->knows("b"));
  EXPECT_FALSE(state("b", bad()));
  EXPECT_TRUE(state("board", bad()));
  const DeviceHealth shown = module->health(device("a", "board"));
  EXPECT_EQ(shown.health.state, HealthState::kUnhealthy);
  EXPECT_EQ(shown.causes.front().of_parent, "board");
  EXPECT_EQ(shown.health.message, "of board: broken");
  state("a", bad());
  EXPECT_EQ(module->health(device("a", "board")).causes.size(), 1);
  EXPECT_EQ(module->health(device("a", "board")).health.message, "broken");
}

TEST_F(ModuleHealthTest, TheListMayStateHealth) {
  Device listed = device("a");
  listed.health = bad("");
  EXPECT_TRUE(list({listed}));
  clock.advance(1s);
  EXPECT_FALSE(list({listed}));
  EXPECT_EQ(health("a"), HealthState::kUnhealthy);
  EXPECT_FALSE(list({device("a")}));
  EXPECT_EQ(health("a"), HealthState::kUnhealthy);
}

TEST_F(ModuleHealthTest, CausesAreBoundedAndTheLeastSevereMakesRoom) {
  list({device("a")});
  for (std::size_t i = 0; i < kMaxCauses; ++i) EXPECT_TRUE(state("a", good("Cause" + std::to_string(i))));
  EXPECT_FALSE(state("a", good("Another")));
  EXPECT_TRUE(state("a", bad("Worse")));
  EXPECT_EQ(module->health(device("a")).causes.size(), kMaxCauses);
  for (std::size_t i = 1; i < kMaxCauses; ++i) EXPECT_TRUE(state("a", bad("Worse" + std::to_string(i))));
  EXPECT_FALSE(state("a", bad("TooMany")));
}

TEST_F(ModuleHealthTest, ARestartOfTheDaemonLaundersNothing) {
  list({device("a")});
  state("a", bad());
  const auto since = module->health(device("a")).changed;
  clock.advance(1h);
  restart();
  EXPECT_TRUE(module->knows("a"));
  list({device("a")});
  EXPECT_EQ(health("a"), HealthState::kUnhealthy);
  EXPECT_EQ(module->health(device("a")).changed, since);
  EXPECT_EQ(store.events.size(), 1);
  EXPECT_TRUE(state("a", good()));
  EXPECT_EQ(health("a"), HealthState::kHealthy);
}

TEST_F(ModuleHealthTest, WhatIsAwaySaysNothingButTaintsAndQuarantines) {
  list({device("a")});
  state("a", bad());
  Health tainted = bad("Fan");
  tainted.taint = TaintEffect::kNoSchedule;
  state("a", tainted);
  const DeviceHealth away = module->health(device("a"), {}, true);
  ASSERT_EQ(away.causes.size(), 1);
  EXPECT_EQ(away.causes.front().health.cause, "Fan");
}

TEST_F(ModuleHealthTest, TheHostsOwnCausesTakeThePlaceOfTheSameName) {
  list({device("a")});
  state("a", bad("Stuck"));
  const CauseHealth own{{.state = HealthState::kUnknown, .reason = "Own", .cause = "Stuck"}, clock.wall()};
  const DeviceHealth shown = module->health(device("a"), {own});
  ASSERT_EQ(shown.causes.size(), 1);
  EXPECT_EQ(shown.health.reason, "Own");
}

TEST_F(ModuleHealthTest, ACordonKeepsPodsAwayUntilAnOperatorEndsIt) {
  list({device("a")});
  state("a", good());
  EXPECT_TRUE(run(module->cordon(cordon_of("a"))));
  DeviceHealth shown = module->health(device("a"));
  EXPECT_EQ(shown.health.state, HealthState::kDegraded);
  EXPECT_EQ(told_to_kubelet(shown), KubeletHealth::kHealthy);
  EXPECT_TRUE(keeps_claims_away(shown.health));
  EXPECT_EQ(shown.health.message,
            "cordoned by root since 2027-01-15T08:00:00Z (noisy fan); 'cagectl device uncordon name-a' ends that");
  restart();
  list({device("a")});
  EXPECT_EQ(health("a"), HealthState::kDegraded);
  list({});
  clock.advance(72h);
  module->advance();
  EXPECT_GT(module->due(), clock.now());
  list({device("a")});
  EXPECT_EQ(health("a"), HealthState::kDegraded);
  EXPECT_TRUE(run(module->uncordon("a", "root", "fan replaced")));
  EXPECT_EQ(run(module->uncordon("a", "root", "")).error().code, Code::kNotFound);
  EXPECT_EQ(run(module->cordon(cordon_of("b"))).error().code, Code::kNotFound);
  EXPECT_EQ(store.events.back().kind, HealthEventKind::kUncordoned);
  EXPECT_EQ(store.events.back().message, "fan replaced");
}

TEST_F(ModuleHealthTest, ACordonThatIsNotOnTheDiskDoesNotCount) {
  list({device("a")});
  store.disk = fail(Code::kUnavailable, "the disk is full");
  EXPECT_EQ(run(module->cordon(cordon_of("a"))).error().code, Code::kUnavailable);
  EXPECT_EQ(module->find_cordon("a"), nullptr);
}

TEST_F(ModuleHealthTest, DevicesThatLeaveAreKeptForADay) {
  list({device("a"), device("b")});
  state("a", bad());
  list({device("b")});
  EXPECT_EQ(store.events.back().kind, HealthEventKind::kGone);
  const DeviceHealth absent = module->health_of_absent("a");
  EXPECT_EQ(absent.health.state, HealthState::kUnhealthy);
  EXPECT_EQ(absent.causes.size(), 2);
  EXPECT_EQ(module->health_of_absent("c").health.reason, "Gone");
  clock.advance(23h);
  module->advance();
  list({device("a"), device("b")});
  EXPECT_EQ(store.events.back().kind, HealthEventKind::kBack);
  EXPECT_EQ(health("a"), HealthState::kUnhealthy);
  list({device("b")});
  clock.advance(24h);
  EXPECT_LE(module->due(), clock.now());
  module->advance();
  EXPECT_FALSE(module->knows("a"));
  EXPECT_TRUE(store.records.empty());
}

TEST_F(ModuleHealthTest, AbsentDevicesAreBoundedAndThoseWithoutCausesGoFirst) {
  std::vector<Device> devices;
  for (std::size_t i = 0; i < ModuleHealth::kMaxAbsent + 10; ++i) devices.push_back(device(fmt::format("d{:04}", i)));
  list(devices);
  state("d0000", bad());
  list({});
  EXPECT_TRUE(module->knows("d0000"));
  std::size_t known = 0;
  for (const Device& device : devices) known += module->knows(device.id) ? 1 : 0;
  EXPECT_EQ(known, ModuleHealth::kMaxAbsent);
}

TEST_F(ModuleHealthTest, OtherRulesJudgeWhatWasStated) {
  list({device("a")});
  state("a", bad());
  clock.advance(1s);
  set_rule({.cause = "Link", .severity = HealthState::kHealthy});
  EXPECT_EQ(health("a"), HealthState::kHealthy);
  EXPECT_EQ(store.events.back().kind, HealthEventKind::kEnded);
  EXPECT_EQ(store.events.back().message, "the rule has changed");
}

TEST_F(ModuleHealthTest, CausesThatTheModuleNoLongerDeclaresAreOver) {
  list({device("a")});
  state("a", bad());
  auto rules = HealthRules::make({{.name = "Fan"}}, false, {});
  ASSERT_TRUE(rules);
  EXPECT_EQ(module->set_rules(*rules), HealthNews::kState);
  EXPECT_TRUE(module->health(device("a")).causes.empty());
  EXPECT_EQ(store.events.back().kind, HealthEventKind::kEnded);
  EXPECT_TRUE(store.records.empty());
}

TEST_F(ModuleHealthTest, ACauseThatWasNeverDeclaredOutlivesNewRules) {
  auto rules = HealthRules::make({{.name = "Fan"}}, false, {});
  ASSERT_TRUE(rules);
  module->set_rules(*rules);
  list({device("a")});
  state("a", bad(""));
  state("a", bad("Odd"));
  EXPECT_EQ(module->set_rules(*rules), HealthNews::kNone);
  EXPECT_EQ(module->health(device("a")).causes.size(), 2u);
}

TEST_F(ModuleHealthTest, WhatIsDueHappensWithoutAStatement) {
  set_rule({.cause = "Link", .hold_down = 10s});
  list({device("a")});
  state("a", bad());
  EXPECT_EQ(health("a"), HealthState::kHealthy);
  EXPECT_EQ(module->due(), clock.now() + 10s);
  clock.advance(10s);
  EXPECT_EQ(module->advance(), HealthNews::kState);
  EXPECT_EQ(health("a"), HealthState::kUnhealthy);
}

TEST_F(ModuleHealthTest, AnOperatorClearsACause) {
  set_rule({.cause = "*", .recovery = Recovery::kOperator});
  list({device("a")});
  state("a", bad());
  const Status missing = module->clear("a", "Fan", "root", "");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_EQ(missing.error().message, "device 'a' has no cause 'Fan'; it has 'Link'");
  EXPECT_EQ(module->clear("b", "Link", "root", "").error().code, Code::kNotFound);
  EXPECT_TRUE(module->clear("a", "Link", "root", "replaced"));
  EXPECT_EQ(health("a"), HealthState::kHealthy);
  EXPECT_EQ(store.events.back().kind, HealthEventKind::kCleared);
  EXPECT_EQ(store.events.back().by, "root");
  EXPECT_TRUE(store.records.empty());
}

TEST_F(ModuleHealthTest, RemediesAreLimitedPerDay) {
  set_rule({.cause = "Link", .resets_per_day = 2});
  list({device("a"), device("b")});
  EXPECT_TRUE(module->resets_wanted().empty());
  state("a", bad());
  EXPECT_EQ(module->resets_wanted(), std::vector<std::string>{"a"});
  ASSERT_TRUE(run(module->count_reset("a")));
  module->note_reset("a", "", "Link", {});
  ASSERT_TRUE(run(module->count_reset("a")));
  module->note_reset("a", "root", "by hand", fail(Code::kInternal, "the bus hangs"));
  EXPECT_EQ(store.events.back().kind, HealthEventKind::kResetFailed);
  EXPECT_EQ(store.events.back().message, "the bus hangs");
  EXPECT_TRUE(module->resets_wanted().empty());
  clock.advance(24h);
  EXPECT_EQ(module->resets_wanted(), std::vector<std::string>{"a"});
}

TEST_F(ModuleHealthTest, ARestartDoesNotForgetAnAttemptToReset) {
  const auto start = [&] {
    restart();
    set_rule({.cause = "Link", .resets_per_day = 1});
    list({device("a")});
  };
  start();
  state("a", bad());
  store.disk = fail(Code::kUnavailable, "the disk is full");
  EXPECT_FALSE(run(module->count_reset("a")));
  EXPECT_EQ(module->resets_wanted(), std::vector<std::string>{"a"}) << "the reset did not happen";
  store.disk = {};
  ASSERT_TRUE(run(module->count_reset("a")));
  start();
  EXPECT_TRUE(module->resets_wanted().empty()) << "the daemon may have been killed during the reset";
  clock.advance(23h);
  start();
  EXPECT_TRUE(module->resets_wanted().empty());
  clock.advance(1h);
  start();
  EXPECT_EQ(module->resets_wanted(), std::vector<std::string>{"a"});
  ASSERT_TRUE(run(module->count_reset("a")));
  run(module->rename("cards"));
  EXPECT_EQ(store.resets("cards").size(), 1u);
}

TEST_F(ModuleHealthTest, WhatOnlyAnOperatorEndsOutlastsAnyAbsence) {
  set_rule({.cause = "Link", .window = 1h, .relapses = 1});
  list({device("a"), device("b")});
  for (int i = 0; i < 2; ++i) {
    state("a", bad());
    state("a", good());
  }
  state("a", bad());
  state("a", bad("Other"));
  list({device("b")});
  for (int day = 0; day < 3; ++day) {
    clock.advance(24h);
    module->advance();
  }
  EXPECT_FALSE(store.records.contains({{"gpus", "a"}, "Other"})) << "other causes are forgotten";
  restart();
  list({device("a"), device("b")});
  EXPECT_EQ(health("a"), HealthState::kUnhealthy);
  EXPECT_TRUE(module->health(device("a")).causes.front().quarantined);
  list({device("b")});
  clock.advance(24h);
  module->advance();
  EXPECT_EQ(module->find_device("name-a")->id, "a");
  EXPECT_TRUE(module->clear("a", "Link", "root", "thrown away"));
  clock.advance(24h);
  module->advance();
  EXPECT_FALSE(module->knows("a"));
}

TEST_F(ModuleHealthTest, AQuarantineMakesNoRoomAndNeedsNoDeclaration) {
  set_rule({.cause = "Link", .severity = HealthState::kDegraded, .window = 1h, .relapses = 1});
  list({device("a")});
  for (int i = 0; i < 2; ++i) {
    state("a", bad());
    clock.advance(1min);
    state("a", good());
    clock.advance(1min);
    module->advance();
  }
  state("a", bad());
  for (std::size_t i = 1; i <= kMaxCauses; ++i) state("a", bad("Worse" + std::to_string(i)));
  const auto is_quarantined = [&] {
    return std::ranges::any_of(module->health(device("a")).causes, &CauseHealth::quarantined);
  };
  EXPECT_TRUE(is_quarantined());
  auto rules = HealthRules::make({{.name = "Fan"}}, false, {});
  ASSERT_TRUE(rules);
  module->set_rules(*rules);
  EXPECT_TRUE(is_quarantined());
}

TEST_F(ModuleHealthTest, TheOrderOfStatementsAtOneInstantDoesNotMatter) {
  std::mt19937 random(7);
  FakeHealthStore other_store;
  ModuleHealth other("gpus", clock, other_store, {});
  list({device("a"), device("b")});
  other.list({.devices = {device("a"), device("b")}});
  for (int step = 0; step < 2000; ++step) {
    clock.advance(1s * (1 + random() % 30));
    module->advance();
    other.advance();
    std::vector<std::pair<std::string, Health>> statements;
    for (auto i = random() % 6; i > 0; --i)
      statements.emplace_back(random() % 2 == 0 ? "a" : "b", Health{.state = static_cast<HealthState>(random() % 5),
                                                                    .cause = random() % 2 == 0 ? "Link" : "Fan"});
    for (const auto& [id, health] : statements) module->state(id, health);
    std::ranges::shuffle(statements, random);
    for (const auto& [id, health] : statements) other.state(id, health);
    for (const char* id : {"a", "b"})
      ASSERT_TRUE(module->health(device(id)).causes == other.health(device(id)).causes) << step;
  }
}

}  // namespace
}  // namespace cardcage
