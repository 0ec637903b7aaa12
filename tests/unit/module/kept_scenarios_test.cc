// Modules that were built for 1.0 of the ABI, as vendors shipped them (tests/abi/kept).
#include "host/config/params.h"
#include "tests/fakes/built_files.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;

using Kept = std::tuple<Isolation, std::string>;

class KeptScenarios : public ModuleFixture, public ::testing::WithParamInterface<Kept> {
 protected:
  KeptScenarios() : ModuleFixture(std::get<0>(GetParam())) { modules_dir = built("tests/unit/module/kept"); }
  void SetUp() override {
#ifndef __x86_64__
    GTEST_SKIP() << "the kept modules are for x86_64";
#endif
  }
  Status start_kept(const Options& options = {}) { return start(std::get<1>(GetParam()), options); }
  ModuleClaim prepared_claim() {
    ModuleClaim wanted = claim("u1", {"card-0", "part-0"});
    wanted.allocations[0].values = wanted.allocations[1].values = *resolve_params(module->identity(), "card", {});
    auto prepared = run(module->call(PrepareCall{wanted}, soon()));
    EXPECT_TRUE(prepared) << prepared.error().message;
    if (!prepared) return wanted;
    edits = std::move(*prepared);
    wanted.state = edits.state;
    wanted.state_version = edits.state_version;
    return wanted;
  }

  PreparedEdits edits;
};

INSTANTIATE_TEST_SUITE_P(Kept, KeptScenarios,
                         ::testing::Combine(::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                                            ::testing::Values("1.0/card_c.so", "1.0/card_cc.so")),
                         [](const auto& about) {
                           std::string name =
                               ::testing::PrintToString(std::get<0>(about.param)) + std::get<1>(about.param);
                           std::erase_if(name, [](char c) { return c == '.' || c == '/' || c == '_'; });
                           return name;
                         });

TEST_P(KeptScenarios, SayWhoTheyAreAndWhatTheyCan) {
  ASSERT_TRUE(start_kept());
  const ModuleIdentity& identity = module->identity();
  EXPECT_EQ(identity.id, "kept.card");
  EXPECT_THAT(identity.options, SizeIs(5));
  ASSERT_THAT(identity.schemas, SizeIs(1));
  EXPECT_EQ(identity.schemas[0].kind, "CardConfig");
  EXPECT_THAT(identity.schemas[0].fields, SizeIs(1));
  EXPECT_TRUE(identity.has_check && identity.has_quiesce && identity.has(Family::kPreferred) &&
              identity.has(Family::kPreStart) && identity.has(Family::kReconcile));
}

TEST_P(KeptScenarios, ListTheirDevices) {
  ASSERT_TRUE(start_kept({{"cards", std::int64_t{3}}, {"model", std::string("X2")}}));
  const auto snapshot = run(module->call(DiscoverCall{}, soon()));
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  EXPECT_THAT((*snapshot)->left_out, SizeIs(0));
  ASSERT_THAT((*snapshot)->devices, SizeIs(4));
  Device card{.id = "card-1", .name = "card-1", .kind = "card", .pci_bus_id = "0000:3b:00.0", .numa_nodes = {1}};
  card.attributes = {{"model", std::string("X2")},
                     {"cores", std::int64_t{64}},
                     {"ecc", true},
                     {"driver", SemVer{"1.2.3"}},
                     {"lanes", std::vector<std::int64_t>{4, 8}}};
  card.capacity = {{"memory", Quantity{2ll << 30, 0, Quantity::Format::kBinary}}};
  card.health = {HealthState::kUnhealthy, "TooHot", "93 degrees", seconds(30), TaintEffect::kNoSchedule};
  EXPECT_EQ((*snapshot)->devices[1], card);
  const Device& part = (*snapshot)->devices[3];
  EXPECT_EQ(part.parent_id, "card-0");
  EXPECT_TRUE(part.shared);
  EXPECT_THAT(part.consumes, ElementsAre(CounterUse{"card-0", {{"slots", Quantity{.value = 1}}}}));
  EXPECT_THAT((*snapshot)->counter_sets, ElementsAre(Pair("card-0", ElementsAre(Pair("slots", Quantity{.value = 4})))));
}

TEST_P(KeptScenarios, ServeAWholeClaim) {
  ASSERT_TRUE(start_kept());
  ASSERT_TRUE(run(module->call(DiscoverCall{}, soon())));
  const ModuleClaim saved = prepared_claim();
  EXPECT_EQ(saved.state, "u1");
  EXPECT_EQ(saved.state_version, 2u);
  EXPECT_THAT(edits.claim.env, ElementsAre(EnvVar{"CLAIM", "c"}));
  ASSERT_THAT(edits.allocations, SizeIs(2));
  const Edits& card = edits.allocations[0];
  EXPECT_THAT(card.env, ElementsAre(EnvVar{"DEVICE", "card-0"}, EnvVar{"REQUEST", "main"}, EnvVar{"MODE", "fast"}));
  ASSERT_THAT(card.device_nodes, SizeIs(1));
  EXPECT_EQ(card.device_nodes[0].path, "/dev/card-0");
  EXPECT_EQ(card.device_nodes[0].host_path, "/dev/null");
  ASSERT_THAT(card.mounts, SizeIs(1));
  EXPECT_THAT(card.mounts[0].options, ElementsAre("ro", "rbind"));
  ASSERT_THAT(card.hooks, SizeIs(1));
  EXPECT_THAT(card.hooks[0].args, ElementsAre("hook", "now"));
  EXPECT_THAT(card.net_devices, SizeIs(1));
  EXPECT_THAT(card.additional_gids, ElementsAre(44u));
  EXPECT_TRUE(run(module->call(PreStartCall{saved}, soon())));
  EXPECT_TRUE(run(module->call(ReconcileCall{{saved}}, soon())));
  EXPECT_TRUE(run(module->call(UnprepareCall{saved}, soon())));
  EXPECT_EQ(run(module->call(UnprepareCall{claim("u2")}, soon())).error().message,
            "module 'm' cannot unprepare: this is not the state that was saved");
}

TEST_P(KeptScenarios, ReportHealthQuiesceAndChoose) {
  ASSERT_TRUE(start_kept());
  ASSERT_TRUE(run(module->call(DiscoverCall{}, soon())));
  ASSERT_TRUE(run(module->call(CheckCall{{"card-1"}}, soon())));
  EXPECT_TRUE(eventually([&] {
    clock.advance(std::chrono::milliseconds(10));
    return rescans == 1 && reports.size() == 1;
  }));
  EXPECT_EQ(reports.at(0).second.state, HealthState::kHealthy);
  EXPECT_TRUE(run(module->call(QuiesceCall{}, soon())));
  EXPECT_EQ(run(module->call(PrepareCall{claim("u1", {})}, soon())).error().message,
            "module 'm' cannot prepare: the card is quiesced");
  EXPECT_TRUE(run(module->call(ResumeCall{}, soon())));
  EXPECT_THAT(run(module->call(ChooseCall{{"a", "b", "c"}, {}, 2}, soon())).value(), ElementsAre("c", "b"));
  EXPECT_TRUE(run(module->stop(soon())));
}

TEST_P(KeptScenarios, RefuseAWrongOption) {
  EXPECT_EQ(start_kept({{"tags", std::vector<std::string>{"one"}}}).error().message,
            "module 'm' cannot start: option 'tags' needs two");
}

}  // namespace
}  // namespace cardcage
