// Modules that were built for 0.3 and 1.0 of the ABI and use what the host offers (tests/abi/kept).
#include "host/config/params.h"
#include "host/core/file.h"
#include "host/services/services.h"
#include "tests/fakes/built_files.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;

using Kept = std::tuple<Isolation, std::string>;

class KeptNodeScenarios : public ModuleFixture, public ::testing::WithParamInterface<Kept> {
 protected:
  KeptNodeScenarios() : ModuleFixture(std::get<0>(GetParam())) { modules_dir = built("tests/unit/module/kept"); }
  ~KeptNodeScenarios() override {
    let_go();
    std::ignore = finish(services->stop_all("m", "u1", clock.now() + std::chrono::hours(1)));
  }
  void SetUp() override {
#ifndef __x86_64__
    GTEST_SKIP() << "the kept modules are for x86_64";
#endif
  }
  Status start_kept(const Options& options = {}) {
    ModuleConfig wanted = config(std::get<1>(GetParam()), options);
    wanted.programs = {"/bin/sleep"};
    wanted.writes = {folder / "reset"};
    auto loaded = run(load_file(core, clock, wanted, modules_dir, soon(), nullptr, {&groups, writes, services, roots}));
    if (!loaded) return std::unexpected(loaded.error());
    module = *loaded;
    return run(module->start(events(), soon()));
  }
  ModuleClaim wanted_claim() {
    ModuleClaim wanted = claim("u1", {"CARD-7f3a"});
    OptionValues values = *resolve_params(module->identity(), "card", {});
    values.entries["sharing.strategy"] = {OptionValue(std::string("even")), true, ConfigSource::kClaim};
    values.entries["sharing.limits"] = {OptionValue(TextMap{{"a", "1"}, {"b", "2"}}), true, ConfigSource::kClass};
    wanted.allocations[0].values = values;
    return wanted;
  }
  // Waits for a task while the fake time follows real time, which processes need.
  template <class T>
  T finish(Task<T> task) {
    const auto result = begin(std::move(task));
    Instant before = std::chrono::steady_clock::now();
    EXPECT_TRUE(eventually([&] {
      const Instant now = std::chrono::steady_clock::now();
      if (!result->has_value()) advance(now - std::exchange(before, now));
      return result->has_value();
    }));
    return std::move(**result);
  }
  Result<PreparedEdits> prepare(const ModuleClaim& wanted) {
    return finish(module->call(PrepareCall{wanted}, soon(), [this](std::string bytes) {
      journal = std::move(bytes);
      return Status();
    }));
  }

  std::shared_ptr<Services> services = std::make_shared<Services>(
      core, clock,
      Services::Places{.records = folder / "records", .outputs = folder / "outputs", .groups = {}, .boot_id = "b"});
  std::string journal;
};

INSTANTIATE_TEST_SUITE_P(Kept, KeptNodeScenarios,
                         ::testing::Combine(::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                                            ::testing::Values("0.3/card_c.so", "0.3/card_cc.so", "0.3/card_rs.so",
                                                              "1.0/node_c.so", "1.0/node_cc.so", "1.0/node_rs.so")),
                         [](const auto& about) {
                           std::string name =
                               ::testing::PrintToString(std::get<0>(about.param)) + std::get<1>(about.param);
                           std::erase_if(name, [](char c) { return c == '.' || c == '/' || c == '_'; });
                           return name;
                         });

TEST_P(KeptNodeScenarios, SayWhatTheyDeclare) {
  ASSERT_TRUE(start_kept());
  const ModuleIdentity& identity = module->identity();
  EXPECT_TRUE(identity.concurrent && identity.has(Family::kConfigure) && identity.has(Family::kQuiesce) &&
              identity.has(Family::kLabels));
  EXPECT_EQ(identity.claim_call_limit, std::chrono::seconds(600));
  ASSERT_THAT(identity.schemas, SizeIs(1));
  EXPECT_THAT(identity.schemas[0].device_kinds, ElementsAre("card"));
  ASSERT_THAT(identity.schemas[0].fields, SizeIs(3));
  EXPECT_EQ(identity.schemas[0].fields[1].name, "sharing.limits");
  EXPECT_EQ(identity.schemas[0].fields[1].type, OptionType::kMap);
  EXPECT_TRUE(identity.schemas[0].fields[2].class_only);
  EXPECT_THAT(identity.metrics, SizeIs(2));
  ASSERT_TRUE(identity.watch);
  EXPECT_THAT(identity.watch->kernel_log, ElementsAre("card: "));
  EXPECT_THAT(identity.watch->uevents, ElementsAre("card"));
}

TEST_P(KeptNodeScenarios, NameTheirDevicesAndTheCausesOfTheirHealth) {
  ASSERT_TRUE(start_kept());
  const auto snapshot = run(module->call(DiscoverCall{}, soon()));
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  ASSERT_THAT((*snapshot)->devices, SizeIs(1));
  const Device& card = (*snapshot)->devices.front();
  EXPECT_EQ(card.name, "card-0");
  EXPECT_EQ(card.health.cause, "Temperature");
  EXPECT_EQ(card.health.taint, TaintEffect::kInform);
  EXPECT_EQ(card.health.taint_key, "kept.cardcage.dev/hot");
  EXPECT_EQ(card.health.taint_value, "very");
}

TEST_P(KeptNodeScenarios, ServeAClaimWithAllThatTheHostOffers) {
  roots.sysfs = "/node/sys";
  std::ofstream(folder / "reset").flush();
  ASSERT_TRUE(start_kept({{"program", std::string("sleep")}, {"reset_file", (folder / "reset").native()}}));
  ASSERT_TRUE(run(module->call(DiscoverCall{}, soon())));
  ModuleClaim wanted = wanted_claim();
  const auto prepared = prepare(wanted);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(journal, "begun");
  EXPECT_THAT(prepared->allocations.at(0).env,
              ElementsAre(EnvVar{"LIMITS", "a=1;b=2;"}, EnvVar{"STRATEGY", "even"}, EnvVar{"FROM", "claim"},
                          EnvVar{"KIND", "CardConfig"}, EnvVar{"SYSFS", "/node/sys"}));
  EXPECT_THAT(prepared->allocations.at(0).env_lists, ElementsAre(EnvVar{"CARDS", "CARD-7f3a"}));
  EXPECT_THAT(prepared->claim.env, ElementsAre(EnvVar{"EXIT", "0"}));
  EXPECT_EQ(read_file(folder / "reset", 10).value(), "1");
  ASSERT_THAT(services->of_claim("u1"), SizeIs(1));
  EXPECT_EQ(finish(module->call(UnprepareCall{wanted}, soon())).error().message,
            "module 'm' cannot unprepare: the journal is lost");
  wanted.journal = journal;
  EXPECT_TRUE(finish(module->call(UnprepareCall{wanted}, soon())));
  EXPECT_THAT(services->of_claim("u1"), SizeIs(0));
}

TEST_P(KeptNodeScenarios, ReportFiguresLabelsAndEvents) {
  ASSERT_TRUE(start_kept());
  ASSERT_TRUE(run(module->call(DiscoverCall{}, soon())));
  OptionValues options;
  options.entries["level"] = {OptionValue(std::int64_t{7}), true, {}};
  EXPECT_TRUE(run(module->call(ConfigureCall{options}, soon())));
  const auto samples = run(module->call(CollectMetricsCall{}, soon()));
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_THAT((*samples)->samples,
              ElementsAre(MetricSample{0, "", {}, 7.0}, MetricSample{1, "CARD-7f3a", {"dram"}, 3.0}));
  EXPECT_THAT(run(module->call(CollectLabelsCall{}, soon())).value().values,
              ElementsAre(Pair("kept.cardcage.dev/driver", "1.2")));
  const EventBatch batch{.events = {{.type = EventType::kKernelLog, .time = {}, .text = "card: on fire"}}};
  EXPECT_TRUE(run(module->call(EventsCall{batch}, soon())));
  EXPECT_TRUE(eventually([&] {
    clock.advance(std::chrono::milliseconds(10));
    return reports.size() == 1;
  }));
  EXPECT_EQ(reports.at(0).second.message, "card: on fire");
  EXPECT_TRUE(run(module->call(QuiesceDeviceCall{"CARD-7f3a"}, soon())));
  EXPECT_EQ(prepare(wanted_claim()).error().message, "module 'm' cannot prepare: the card is quiesced");
  EXPECT_TRUE(run(module->call(ResumeDeviceCall{"CARD-7f3a"}, soon())));
  EXPECT_TRUE(prepare(wanted_claim()));
}

}  // namespace
}  // namespace cardcage
