// The operator's choice of figures: names, or a list of dcgm-exporter.
#include <fstream>

#include "tests/nvidia/nvidia_fixture.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class NvidiaFigureChoice : public NvidiaFixture {
 protected:
  // The figures of the only GPU, by name without "DCGM_FI_DEV_".
  std::map<std::string, double> figures() {
    discover();
    std::map<std::string, double> found;
    const auto collected = run(module->call(CollectMetricsCall{}, soon()));
    EXPECT_TRUE(collected) << collected.error().message;
    for (const MetricSample& sample : (*collected)->samples)
      found[module->identity().metrics.at(sample.metric).name.substr(12)] = sample.value;
    return found;
  }
  // The labels of the XID figure, by name.
  std::map<std::string, std::string> xid_labels() {
    std::map<std::string, std::string> labels;
    const auto collected = run(module->call(CollectMetricsCall{}, soon()));
    for (const MetricSample& sample : (*collected)->samples) {
      const MetricDeclaration& declared = module->identity().metrics.at(sample.metric);
      if (declared.name != "DCGM_FI_DEV_XID_ERRORS") continue;
      for (std::size_t i = 0; i < declared.labels.size(); ++i) labels[declared.labels[i]] = sample.labels.at(i);
    }
    return labels;
  }
  static Options named(const std::vector<std::string>& names) { return {{"metrics", names}}; }
};

INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaFigureChoice, ::testing::Values(Isolation::kInProcess), name_of_isolation);

TEST_P(NvidiaFigureChoice, OnlyTheNamedFiguresAreReported) {
  ASSERT_TRUE(start_on({}, named({"DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_FB_TOTAL", "DCGM_FI_DEV_NO_SUCH_FIELD"})));
  EXPECT_THAT(figures(), ElementsAre(Pair("FB_TOTAL", 81559), Key("GPU_TEMP")));
}

TEST_P(NvidiaFigureChoice, FiguresThatAreNotReportedOtherwiseAreWhatTheGpuTells) {
  ASSERT_TRUE(start_on(
      {}, named({"DCGM_FI_DEV_FB_USED_PERCENT", "DCGM_FI_DEV_VIDEO_CLOCK", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
                 "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_ENFORCED_POWER_LIMIT",
                 "DCGM_FI_DEV_POWER_MGMT_LIMIT_DEF", "DCGM_FI_DEV_PCIE_LINK_GEN", "DCGM_FI_DEV_PCIE_LINK_WIDTH",
                 "DCGM_FI_DEV_PCIE_MAX_LINK_GEN", "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", "DCGM_FI_DEV_ROW_REMAP_PENDING",
                 "DCGM_FI_DEV_ECC_CURRENT", "DCGM_FI_DEV_PERSISTENCE_MODE", "DCGM_FI_DEV_COMPUTE_MODE"})));
  {
    const auto state = gpus->state();
    state->gpus[0].clocks[nvml::kVideoClock] = 1545;
    state->gpus[0].clock_reasons = nvml::kReasonSwPowerCap;
    state->gpus[0].compute_mode = nvml::kComputeExclusiveProcess;
  }
  gpus->set_link_width(0, 8);
  EXPECT_THAT(
      figures(),
      UnorderedElementsAre(Key("FB_USED_PERCENT"), Pair("VIDEO_CLOCK", 1545), Pair("CLOCKS_EVENT_REASONS", 4),
                           Pair("CLOCK_THROTTLE_REASONS", 4), Pair("ENFORCED_POWER_LIMIT", 700),
                           Pair("POWER_MGMT_LIMIT_DEF", 700), Pair("PCIE_LINK_GEN", 5), Pair("PCIE_LINK_WIDTH", 8),
                           Pair("PCIE_MAX_LINK_GEN", 5), Pair("PCIE_MAX_LINK_WIDTH", 16), Pair("ROW_REMAP_PENDING", 0),
                           Pair("ECC_CURRENT", 1), Key("PERSISTENCE_MODE"), Pair("COMPUTE_MODE", 3)));
}

// Lines from etc/default-counters.csv and from a published list.
TEST_P(NvidiaFigureChoice, AListOfTheExporterNamesThem) {
  const auto list = folder / "counters.csv";
  std::ofstream(list) << "# DCGM FIELD, Prometheus metric type, help message\n"
                         "\n"
                         "DCGM_FI_DEV_SM_CLOCK,  gauge, SM clock frequency (in MHz).\n"
                         "DCGM_FI_DEV_DEC_UTIL ,     gauge, Decoder utilization (in %).\r\n"
                         "# DCGM_FI_DEV_POWER_VIOLATION,       counter, Throttling duration (in us).\n"
                         "DCGM_FI_DRIVER_VERSION, label, Driver Version\n"
                         "DCGM_FI_DEV_FB_TOTAL, gauge, Total, in MiB\n";
  ASSERT_TRUE(start_on({}, {{"metrics_file", list.native()}}));
  EXPECT_THAT(figures(), ElementsAre(Key("DEC_UTIL"), Key("FB_TOTAL"), Key("SM_CLOCK")));
}

TEST_P(NvidiaFigureChoice, ByDefaultAllOfTheExportersListsAreReported) {
  ASSERT_TRUE(start_on({}));
  EXPECT_THAT(figures(), IsSupersetOf({Key("SM_CLOCK"), Key("GPU_TEMP"), Key("FB_USED"), Key("ECC_DBE_VOL_TOTAL")}));
  EXPECT_THAT(figures(), Not(::testing::Contains(Key("FB_TOTAL"))));
}

TEST_P(NvidiaFigureChoice, AChoiceThatIsNoneIsRefused) {
  const Status missing = start_on({}, {{"metrics_file", std::string("/no/such/list.csv")}});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("metrics_file: reading '/no/such/list.csv': No such file"));
  const Status both = start_again({{"metrics_file", std::string("/x")}, {"metrics", std::vector<std::string>{"A"}}});
  ASSERT_FALSE(both);
  EXPECT_THAT(both.error().message, HasSubstr("remove one of them"));
}

// xid_errors.go and gpu_collector.go of dcgm-exporter.
TEST_P(NvidiaFigureChoice, AnXidHasItsNumberAndItsTextAsLabels) {
  ASSERT_TRUE(watch({}));
  EXPECT_THAT(xid_labels(), IsSupersetOf({Pair("err_code", "0"), Pair("err_msg", "No Error")}));
  const std::map<unsigned long long, std::string> texts{{31, "GPU memory page fault"},
                                                        {48, "Double Bit ECC Error"},
                                                        {63, "ECC page retirement or row remapping recording event"},
                                                        {79, "GPU has fallen off the bus"},
                                                        {94, "Contained ECC error"},
                                                        {119, "GSP RPC Timeout"},
                                                        {154, "GPU Recovery Action Changed"},
                                                        {172, "Uncorrectable SRAM Error"},
                                                        {173, "Unknown Error"}};
  for (const auto& [xid, text] : texts) {
    gpus->raise_xid(0, xid);
    pass_looks(1);
    EXPECT_THAT(xid_labels(), IsSupersetOf({Pair("err_code", std::to_string(xid)), Pair("err_msg", text)}));
  }
}

}  // namespace
}  // namespace cardcage
