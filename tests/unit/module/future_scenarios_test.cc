// A module of a later minor, for which this host is one from the past (tests/abi/future).
#include "host/config/params.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class FutureScenarios : public ModuleFixture, public ::testing::WithParamInterface<Isolation> {
 protected:
  FutureScenarios() : ModuleFixture(GetParam()) {}
  SnapshotPtr discover_with(const std::string& misuse) {
    EXPECT_TRUE(start("future.so", {{"misuse", misuse}}));
    if (!module) return nullptr;
    const auto snapshot = run(module->call(DiscoverCall{}, soon()));
    EXPECT_TRUE(snapshot) << snapshot.error().message;
    return snapshot ? *snapshot : nullptr;
  }
};

INSTANTIATE_TEST_SUITE_P(In, FutureScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(FutureScenarios, LargerStructsAndUnknownFamiliesDoNoHarm) {
  const SnapshotPtr snapshot = discover_with("none");
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(module->identity().abi.to_string(), "1.7");
  EXPECT_TRUE(module->identity().has(Family::kLabels));
  ASSERT_THAT(snapshot->devices, SizeIs(2));
  EXPECT_EQ(snapshot->find("card-0")->health.reason, "Hot");
  EXPECT_EQ(snapshot->find("card-0")->health.value, 93.5);
  ModuleClaim wanted = claim("u1", {"card-0"});
  wanted.allocations[0].values = *resolve_params(module->identity(), "card", {});
  std::string journal;
  const auto prepared = run(module->call(PrepareCall{wanted}, soon(), [&](std::string bytes) {
    journal = std::move(bytes);
    return Status();
  }));
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(prepared->allocations.at(0).env, ElementsAre(EnvVar{"MODE", "fast"}));
  EXPECT_THAT(prepared->allocations.at(0).device_nodes, SizeIs(1));
  wanted.journal = journal;
  EXPECT_TRUE(run(module->call(UnprepareCall{wanted}, soon())));
  EXPECT_THAT(run(module->call(CollectLabelsCall{}, soon())).value().values, SizeIs(1));
}

TEST_P(FutureScenarios, UnknownFlagsAndValuesOfADeviceLeaveItOut) {
  const std::map<std::string, std::string> reasons{{"flag", "flags 0x40000000 are unknown [R16]"},
                                                   {"state", "health.state 29 is unknown [R16]"},
                                                   {"type", "type 29 is unknown [R16]"}};
  for (const auto& [misuse, reason] : reasons) {
    const SnapshotPtr snapshot = discover_with(misuse);
    ASSERT_TRUE(snapshot);
    EXPECT_EQ(snapshot->find("card-0"), nullptr);
    EXPECT_NE(snapshot->find("card-1"), nullptr) << "the others stay";
    ASSERT_THAT(snapshot->left_out, SizeIs(1));
    EXPECT_THAT(snapshot->left_out.begin()->second, HasSubstr(reason));
    let_go();
  }
}

TEST_P(FutureScenarios, AnUnknownHealthIsIgnoredAndAnUnknownStatusIsAFailure) {
  ASSERT_TRUE(discover_with("none"));
  EXPECT_TRUE(run(module->call(CheckCall{{"card-0"}}, soon())));
  EXPECT_TRUE(eventually([&] {
    clock.advance(std::chrono::milliseconds(10));
    return !reports.empty();
  }));
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(reports[0].second.state, HealthState::kHealthy);
  const Status unprepared = run(module->call(UnprepareCall{claim("u2", {"card-0"})}, soon()));
  ASSERT_FALSE(unprepared);
  EXPECT_EQ(unprepared.error().code, Code::kUnknown) << unprepared.error().message;
}

TEST_P(FutureScenarios, AFileThatNeedsALaterHostIsRefused) {
  const std::map<std::string, std::string> reasons{
      {"future_needs.so", "it needs the family cage.future/1, which this host with module ABI 1.0 lacks"},
      {"future_flags.so", "its table has the unknown flags 0x40000000"},
      {"future_host.so", "it needs a host with module ABI 1.7 or later and this one has 1.0"}};
  for (const auto& [file, reason] : reasons) {
    const auto loaded = load(config(file));
    ASSERT_FALSE(loaded) << file;
    EXPECT_THAT(loaded.error().message, HasSubstr(reason));
  }
}

}  // namespace
}  // namespace cardcage
