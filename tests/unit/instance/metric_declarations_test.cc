#include "host/instance/declared_parts.h"

#include <gmock/gmock.h>

#include <functional>

namespace cardcage {
namespace {

using ::testing::HasSubstr;

class MetricDeclarationsTest : public ::testing::Test {
 protected:
  MetricDeclarationsTest() {
    metric.struct_size = sizeof metric;
    metric.type = CAGE_METRIC_GAUGE;
    metric.name = CAGE_LIT("temperature_celsius");
    metric.help = CAGE_LIT("of the hottest sensor");
    metric.labels = labels;
    metric.label_count = 2;
  }
  Result<std::vector<MetricDeclaration>> copy(const std::vector<const cage_metric*>& list) {
    cage_metrics family{};
    family.struct_size = sizeof family;
    family.metrics = list.data();
    family.metric_count = static_cast<std::uint32_t>(list.size());
    return copy_metrics(family);
  }
  std::string refusal() {
    const auto copied = copy({&metric});
    return copied ? "accepted" : copied.error().message;
  }

  cage_str labels[9] = {CAGE_LIT("sensor"), CAGE_LIT("side")};
  cage_metric metric{};
};

TEST_F(MetricDeclarationsTest, CopiesADeclaration) {
  const auto copied = copy({&metric});
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(
      copied->at(0),
      (MetricDeclaration{MetricType::kGauge, "temperature_celsius", "of the hottest sensor", {"sensor", "side"}}));
}

TEST_F(MetricDeclarationsTest, RefusesNamesThatPrometheusWouldRefuse) {
  for (const std::string name : {"", "Temperature", "FI_Temperature", "1ST", "1st", "_private", "_PRIVATE", "a:b",
                                 "a-b", "ALERTS", "ALERTS_FOR_STATE", "Ä", "ä"}) {
    metric.name = {name.data(), name.size()};
    EXPECT_THAT(refusal(), HasSubstr("entry 0 of metrics: name '")) << name;
  }
  const std::string longest(64, 'a'), longer(65, 'a');
  metric.name = {longest.data(), longest.size()};
  EXPECT_EQ(refusal(), "accepted");
  metric.name = {longer.data(), longer.size()};
  EXPECT_THAT(refusal(), HasSubstr("[a-z][a-z0-9_]* or [A-Z][A-Z0-9_]* of at most 64 bytes"));
}

TEST_F(MetricDeclarationsTest, AcceptsANameInUpperCaseWhateverItsEndingSaysOfItsType) {
  metric.name = CAGE_LIT("ACME_FI_ERRORS");
  metric.type = CAGE_METRIC_COUNTER;
  EXPECT_EQ(refusal(), "accepted");
  metric.name = CAGE_LIT("ACME_FI_LEFT_TOTAL");
  metric.type = CAGE_METRIC_GAUGE;
  EXPECT_EQ(refusal(), "accepted");
  metric.name = CAGE_LIT("ACME_left_total");
  EXPECT_THAT(refusal(), HasSubstr("name 'ACME_left_total' is not"));
}

TEST_F(MetricDeclarationsTest, AcceptsLabelsWithCapitals) {
  labels[0] = CAGE_LIT("UUID");
  labels[1] = CAGE_LIT("modelName");
  EXPECT_EQ(refusal(), "accepted");
  for (const std::string name : {"__name__", "9", "a-b", "Ä"}) {
    labels[1] = {name.data(), name.size()};
    EXPECT_THAT(refusal(), HasSubstr("'temperature_celsius': label '" + name + "' is not")) << name;
  }
}

TEST_F(MetricDeclarationsTest, OnlyCountersEndInTotal) {
  metric.type = CAGE_METRIC_COUNTER;
  EXPECT_EQ(refusal(),
            "entry 0 of metrics: 'temperature_celsius' is a counter: names of counters end in _total, and no others "
            "[R17]");
  metric.name = CAGE_LIT("resets_total");
  EXPECT_EQ(refusal(), "accepted");
  metric.type = CAGE_METRIC_GAUGE;
  EXPECT_THAT(refusal(), HasSubstr("'resets_total' is a gauge"));
  metric.type = 3;
  EXPECT_THAT(refusal(), HasSubstr("unknown type 3 [R16]"));
}

TEST_F(MetricDeclarationsTest, RefusesLabelsThatTheHostOrPrometheusUses) {
  for (const std::string name : {"module", "device", "namespace", "pod", "container", "claim", "job", "le", ""}) {
    labels[1] = {name.data(), name.size()};
    EXPECT_THAT(refusal(), HasSubstr("'temperature_celsius': label '" + name + "' is not")) << name;
  }
  labels[1] = labels[0];
  EXPECT_THAT(refusal(), HasSubstr("label 'sensor' is there twice"));
  metric.label_count = 17;
  EXPECT_THAT(refusal(), HasSubstr("labels has 17 entries, at most 16 are allowed"));
}

TEST_F(MetricDeclarationsTest, NeedsAHelpOfOneLine) {
  metric.help = {nullptr, 0};
  EXPECT_THAT(refusal(), HasSubstr("help '' is not one line"));
  metric.help = CAGE_LIT("two\nlines");
  EXPECT_THAT(refusal(), HasSubstr("is not one line"));
}

TEST_F(MetricDeclarationsTest, RefusesANameThatComesTwiceAndTooMany) {
  EXPECT_THAT(copy({&metric, &metric}).error().message, HasSubstr("metrics has 'temperature_celsius' twice"));
  EXPECT_THAT(copy(std::vector<const cage_metric*>(129, &metric)).error().message,
              HasSubstr("at most 128 are allowed"));
  EXPECT_THAT(copy({nullptr}).error().message, HasSubstr("cage_metric is NULL"));
  metric.struct_size = 8;
  EXPECT_THAT(refusal(), HasSubstr("[R2]"));
}

}  // namespace
}  // namespace cardcage
