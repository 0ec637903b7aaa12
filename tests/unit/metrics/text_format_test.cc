// The rules and examples of https://prometheus.io/docs/instrumenting/exposition_formats.
#include "host/metrics/text_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "host/metrics/call_times.h"

namespace cardcage {
namespace {

std::string text(const MetricFamily& family) {
  std::string page;
  append_family(page, family);
  return page;
}

std::string value_text(double value) {
  std::string page;
  append_value(page, value);
  return page;
}

TEST(TextFormatTest, AFamilyIsItsHelpItsTypeAndALineForEachSample) {
  EXPECT_EQ(
      text({.name = "http_requests_total",
            .help = "The total number of HTTP requests.",
            .type = FamilyType::kCounter,
            .samples = {{{{"method", "post"}, {"code", "200"}}, 1027}, {{{"method", "post"}, {"code", "400"}}, 3}}}),
      "# HELP http_requests_total The total number of HTTP requests.\n"
      "# TYPE http_requests_total counter\n"
      "http_requests_total{method=\"post\",code=\"200\"} 1027\n"
      "http_requests_total{method=\"post\",code=\"400\"} 3\n");
  EXPECT_EQ(text({.name = "metric_without_labels", .help = "", .type = FamilyType::kGauge, .samples = {{{}, 12.47}}}),
            "# HELP metric_without_labels \n# TYPE metric_without_labels gauge\nmetric_without_labels 12.47\n");
}

TEST(TextFormatTest, LabelValuesEscapeBackslashesQuotesAndLineEnds) {
  EXPECT_EQ(
      text({.name = "msdos_file_access_time_seconds",
            .help = "",
            .type = FamilyType::kGauge,
            .samples = {{{{"path", "C:\\DIR\\FILE.TXT"}, {"error", "Cannot find file:\n\"FILE.TXT\""}},
                         1.458255915e9}}}),
      "# HELP msdos_file_access_time_seconds \n# TYPE msdos_file_access_time_seconds gauge\n"
      R"(msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT",error="Cannot find file:\n\"FILE.TXT\""} 1458255915)"
      "\n");
}

TEST(TextFormatTest, HelpEscapesBackslashesAndLineEndsButNoQuotes) {
  std::string page;
  append_head(page, "a", "one \\ \"two\"\nthree", FamilyType::kGauge);
  EXPECT_EQ(page, "# HELP a one \\\\ \"two\"\\nthree\n# TYPE a gauge\n");
}

TEST(TextFormatTest, UnicodeIsKept) {
  std::string labels;
  append_label(labels, "reason", "zu heiß");
  EXPECT_EQ(labels, "reason=\"zu heiß\"");
}

TEST(TextFormatTest, ValuesAreReadBackExactly) {
  for (const double value : {0.0, -1.0, 1.0 / 3, 1e21, 1.7e-9, 1'799'992'800.123456, 9'007'199'254'740'991.0})
    EXPECT_EQ(std::stod(value_text(value)), value) << value_text(value);
}

TEST(TextFormatTest, ValuesThatAreNoNumbersHaveTheNamesOfTheFormat) {
  EXPECT_EQ(value_text(std::nan("")), "NaN");
  EXPECT_EQ(value_text(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(value_text(-std::numeric_limits<double>::infinity()), "-Inf");
}

// Buckets are cumulative and in increasing order; the last one, "+Inf", equals the count.
TEST(TextFormatTest, AHistogramHasItsBucketsItsSumAndItsCount) {
  CallTimes times;
  for (const int ms : {1, 2, 30, 60'000})
    times.answered(KubeletCall::kPrepare, "gpu.example.com", Code::kOk, std::chrono::milliseconds(ms));
  std::string expected =
      "# HELP cardcage_call_seconds how long the kubelet waited for a response, per claim or container\n"
      "# TYPE cardcage_call_seconds histogram\n";
  const std::string labels = R"(call="prepare",code="ok",name="gpu.example.com")";
  for (const auto& [bound, count] : std::initializer_list<std::pair<const char*, int>>{{"0.0001", 0},
                                                                                       {"0.00025", 0},
                                                                                       {"0.0005", 0},
                                                                                       {"0.001", 1},
                                                                                       {"0.0025", 2},
                                                                                       {"0.005", 2},
                                                                                       {"0.01", 2},
                                                                                       {"0.025", 2},
                                                                                       {"0.05", 3},
                                                                                       {"0.1", 3},
                                                                                       {"0.5", 3},
                                                                                       {"1", 3},
                                                                                       {"5", 3},
                                                                                       {"10", 3},
                                                                                       {"40", 3},
                                                                                       {"+Inf", 4}})
    expected += "cardcage_call_seconds_bucket{" + labels + ",le=\"" + bound + "\"} " + std::to_string(count) + "\n";
  expected += "cardcage_call_seconds_sum{" + labels + "} 60.033\ncardcage_call_seconds_count{" + labels + "} 4\n";
  EXPECT_EQ(text(times.family()), expected);
}

}  // namespace
}  // namespace cardcage
