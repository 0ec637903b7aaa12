// tests/golden/metrics/module_series.txt is a page with the series of two modules.
// CARDCAGE_UPDATE_GOLDEN=1 rewrites the file.
#include "host/metrics/module_series.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "host/core/file.h"
#include "tests/fakes/source_folder.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CollectedMetrics collected(std::string module, std::vector<MetricDeclaration> declared,
                           std::vector<MetricSample> samples) {
  return {.module = std::move(module),
          .declared = std::make_shared<const std::vector<MetricDeclaration>>(std::move(declared)),
          .samples = std::make_shared<const MetricSamples>(MetricSamples{std::move(samples), {}}),
          .collected = std::chrono::system_clock::time_point(std::chrono::seconds(1'800'000'000)),
          .failures = 0};
}
DeviceReport device(const std::string& module, const std::string& id, std::optional<DeviceUser> user = {}) {
  DeviceReport report;
  report.module = module;
  report.device.id = id;
  report.device.name = "name-of-" + id;
  report.user = std::move(user);
  return report;
}
const MetricDeclaration kHeat{MetricType::kGauge, "temperature_celsius", "of the hottest sensor", {}};
const MetricDeclaration kErrors{
    MetricType::kCounter, "link_errors_total", "since the reset,\\ by link", {"link", "way"}};

TEST(ModuleSeriesTest, TwoModulesShareAMetricAndDevicesNameTheirUsers) {
  const std::string page =
      module_series({collected("gpu", {kHeat, kErrors},
                               {{1, "GPU-0", {"a\"b\\c\nd", "up"}, 17},
                                {0, "GPU-0", {}, 41.5},
                                {0, "GPU-1", {}, -3},
                                {1, "GPU-1", {"0", ""}, 1e21},
                                {0, "", {}, 20},
                                {0, "GPU-9", {}, 1}}),
                     collected("nic", {kHeat}, {{0, "NIC-0", {}, 1.0 / 3}})},
                    {device("gpu", "GPU-0", DeviceUser{"ml", "trainer-0", "main", "training"}), device("gpu", "GPU-1"),
                     device("nic", "NIC-0", DeviceUser{"ml", "trainer-0", "", ""})});
  const auto file = source_folder() / "tests/golden/metrics/module_series.txt";
  if (std::getenv("CARDCAGE_UPDATE_GOLDEN")) {
    ASSERT_TRUE(write_file_atomically(file, page, 0644));
  }
  EXPECT_EQ(page, read_file(file, 1'000'000).value_or("(no golden file)"));
}

TEST(ModuleSeriesTest, ANameInUpperCaseIsShownAsItIsWithTheUserOfTheDevice) {
  const MetricDeclaration temperature{
      MetricType::kGauge, "DCGM_FI_DEV_GPU_TEMP", "in degrees Celsius", {"gpu", "UUID"}};
  const std::string page = module_series(
      {collected("nvidia", {kHeat, temperature}, {{1, "GPU-0", {"0", "GPU-0"}, 41}, {0, "GPU-0", {}, 41}})},
      {device("nvidia", "GPU-0", DeviceUser{"ml", "trainer-0", "main", "training"})});
  EXPECT_THAT(page, HasSubstr("# HELP DCGM_FI_DEV_GPU_TEMP in degrees Celsius\n"
                              "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"
                              "DCGM_FI_DEV_GPU_TEMP{module=\"nvidia\",device=\"name-of-GPU-0\",namespace=\"ml\","
                              "pod=\"trainer-0\",container=\"main\",claim=\"training\",gpu=\"0\",UUID=\"GPU-0\"} 41\n"
                              "# HELP cardcage_hw_temperature_celsius"));
}

TEST(ModuleSeriesTest, TheFirstModuleHasANameThatTwoDeclareWithDifferentTypes) {
  MetricDeclaration other = kErrors;
  other.type = MetricType::kGauge;  // no module of this ABI can declare it
  const std::string page = module_series(
      {collected("a", {kErrors}, {{0, "", {"0", "up"}, 1}}), collected("b", {other}, {{0, "", {"0", "up"}, 2}})}, {});
  EXPECT_THAT(page, HasSubstr("# TYPE cardcage_hw_link_errors_total counter\n"));
  EXPECT_THAT(page, HasSubstr("cardcage_hw_link_errors_total{module=\"a\",link=\"0\",way=\"up\"} 1\n"));
  EXPECT_THAT(page, Not(HasSubstr("cardcage_hw_link_errors_total{module=\"b\"")));
  EXPECT_THAT(page, HasSubstr("cardcage_module_samples_left_out{module=\"b\"} 1\n"));
}

TEST(ModuleSeriesTest, ASampleThatDoesNotFitItsDeclarationIsLeftOut) {
  const std::string page =
      module_series({collected("a", {kErrors}, {{0, "", {"0"}, 1}, {7, "", {}, 1}, {0, "", {"0", "up"}, 1}})}, {});
  EXPECT_THAT(page, HasSubstr("cardcage_module_samples{module=\"a\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("cardcage_module_samples_left_out{module=\"a\"} 2\n"));
}

TEST(ModuleSeriesTest, WithoutSamplesOnlyTheStateOfTheCollectionIsShown) {
  CollectedMetrics failed = collected("a", {kHeat}, {});
  failed.samples = nullptr;
  failed.failures = 3;
  const std::string page = module_series({failed}, {});
  EXPECT_THAT(page, Not(HasSubstr("cardcage_hw_")));
  EXPECT_THAT(page, HasSubstr("cardcage_module_collect_failures_total{module=\"a\"} 3\n"));
  EXPECT_EQ(module_series({}, {}), "");
}

}  // namespace
}  // namespace cardcage
