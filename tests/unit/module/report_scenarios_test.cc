// A module's samples for Prometheus and labels of the node, and the ones that the host drops.
#include "tests/fakes/built_files.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class ReportScenarios : public ScenarioFixture {
 protected:
  Result<MetricSamplesPtr> samples() { return run(module->call(CollectMetricsCall{}, soon())); }
  Result<NodeLabels> labels() { return run(module->call(CollectLabelsCall{}, soon())); }
};

INSTANTIATE_TEST_SUITE_P(Isolation, ReportScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

const MetricSample kOwn{0, "", {}, 20}, kFan{1, "dev-0", {"a\"b\\c\nd", ""}, 1e9}, kOther{0, "dev-9", {}, -3.5};

TEST_P(ReportScenarios, TheDeclaredMetricsAreKnown) {
  ASSERT_TRUE(start_scripted({}));
  EXPECT_THAT(
      module->identity().metrics,
      ElementsAre(MetricDeclaration{MetricType::kGauge, "temperature_celsius", "of the hottest sensor", {}},
                  MetricDeclaration{MetricType::kCounter, "fan_turns_total", "since the start", {"fan", "side"}}));
  EXPECT_TRUE(module->identity().has(Family::kLabels));
}

TEST_P(ReportScenarios, SamplesArriveInTheirOrder) {
  ASSERT_TRUE(start_scripted({}));
  const auto collected = samples();
  ASSERT_TRUE(collected) << collected.error().message;
  EXPECT_THAT((*collected)->samples, ElementsAre(kOwn, kFan, kOther));
  EXPECT_EQ((*collected)->left_out, LeftOut());
}

TEST_P(ReportScenarios, SamplesThatBreakARuleAreLeftOutAndTheOthersStay) {
  ASSERT_TRUE(start_scripted({"metrics=bad"}));
  for (int i = 0; i < 2; ++i) {
    const auto collected = samples();
    ASSERT_TRUE(collected) << collected.error().message;
    EXPECT_THAT((*collected)->samples, ElementsAre(kOwn, kFan, kOther));
    EXPECT_EQ((*collected)->left_out,
              (LeftOut{9, "sample of metric '2': the module declares 2 metrics, and their indices begin with 0"}));
  }
}

TEST_P(ReportScenarios, AFloodIsBounded) {
  ASSERT_TRUE(start_scripted({"metrics=flood"}));
  const auto collected = samples();
  ASSERT_TRUE(collected) << collected.error().message;
  EXPECT_EQ((*collected)->samples.size(), kMaxSamples);
  EXPECT_EQ((*collected)->left_out.count, 300'003 - kMaxSamples);
  EXPECT_THAT((*collected)->left_out.first, HasSubstr("a collection has at most 50000 samples and 8 MiB of text"));
  EXPECT_TRUE(run(module->call(CheckCall{{"dev-0"}}, soon())));
}

TEST_P(ReportScenarios, AFailedCollectionSaysWhy) {
  ASSERT_TRUE(start_scripted({"metrics=explain", "labels=silent"}));
  EXPECT_EQ(samples().error().message,
            "module 'm' cannot collect metrics: the card in slot 3 is too hot\nopen a window");
  EXPECT_EQ(labels().error().message,
            "module 'm' cannot collect labels: permission denied, and the module does not explain it");
}

TEST_P(ReportScenarios, AKeptSinkIsRefused) {
  ASSERT_TRUE(start_scripted({"check=late-sink", "check=stranger"}));
  ASSERT_TRUE(samples());
  ASSERT_TRUE(labels());
  EXPECT_TRUE(run(module->call(CheckCall{{"dev-0"}}, soon())));
  EXPECT_THAT(samples().value()->samples, ElementsAre(kOwn, kFan, kOther));
  EXPECT_THAT(labels().value().values, ElementsAre(Pair("example.com/driver", "1.2")));
}

TEST_P(ReportScenarios, ACollectionThatHangsFailsAtItsDeadlineAndLosesTheInstance) {
  ASSERT_TRUE(start_scripted({"metrics=hang"}));
  const auto collected = begin(module->call(CollectMetricsCall{}, clock.now() + seconds(2)));
  ASSERT_TRUE(is_hanging());
  advance(seconds(2));
  ASSERT_TRUE(*collected);
  EXPECT_EQ((*collected)->error(),
            (Error{Code::kDeadlineExceeded, "module 'm' cannot collect metrics: it did not answer in time"}));
  advance(seconds(5));
  ASSERT_TRUE(lost);
  EXPECT_THAT(lost->message, HasSubstr("stuck in collect metrics"));
}

TEST_P(ReportScenarios, LabelsThatBreakARuleAreLeftOutAndTheOthersStay) {
  ASSERT_TRUE(start_scripted({"labels=bad"}));
  const auto collected = labels();
  ASSERT_TRUE(collected) << collected.error().message;
  EXPECT_EQ(collected->values.size(), kMaxNodeLabels);
  EXPECT_EQ(collected->values.at("example.com/driver"), "1.2");
  EXPECT_EQ(collected->values.at("example.com/good"), "v");
  EXPECT_EQ(collected->left_out.count, 16U);
  EXPECT_EQ(collected->left_out.first,
            "node label 'nodomain': name 'nodomain' is not a label's name with a domain outside kubernetes.io and "
            "k8s.io, such as example.com/driver");
}

TEST_P(ReportScenarios, AModuleWithoutTheFamiliesIsNotCalled) {
  ASSERT_TRUE(start("good.so"));
  EXPECT_EQ(samples().error(),
            (Error{Code::kUnimplemented, "module 'm' cannot collect metrics: it has no cage.metrics/1"}));
  EXPECT_EQ(labels().error(),
            (Error{Code::kUnimplemented, "module 'm' cannot collect labels: it has no cage.labels/1"}));
}

TEST_P(ReportScenarios, TheMockReportsFiguresOfItsDevices) {
  modules_dir = built_modules();
  ASSERT_TRUE(
      start("libcardcage_mock_concurrent.so", {{"devices", std::vector<std::string>{"gpu:2"}},
                                               {"metrics_lanes", std::int64_t{3}},
                                               {"labels", std::vector<std::string>{"example.com/a=1", "b=2"}}}));
  EXPECT_EQ(samples().value()->samples.size(), 2U * (2 + 3) + 1);
  EXPECT_EQ(labels().value().left_out.count, 1U);
}

class WorkerReportTest : public ModuleFixture {
 protected:
  WorkerReportTest() : ModuleFixture(Isolation::kProcess) {}
};

TEST_F(WorkerReportTest, AWorkerThatDiesInACollectionIsLost) {
  ASSERT_TRUE(start_scripted({"metrics=crash"}));
  const auto collected = run(module->call(CollectMetricsCall{}, soon()));
  ASSERT_FALSE(collected);
  EXPECT_THAT(collected.error().message, HasSubstr("killed by signal 11"));
  EXPECT_TRUE(lost);
}

}  // namespace
}  // namespace cardcage
