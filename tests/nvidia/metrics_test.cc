// The figures of GPUs and MIG instances: names, units and labels of dcgm-exporter, and no figure that is unknown.
#include "tests/nvidia/nvidia_fixture.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr unsigned long long kGib = 1ULL << 30;

using Figures = std::map<std::string, double>;  // by name, without "DCGM_FI_"
struct Row {
  std::string device;
  std::map<std::string, std::string> labels;
  Figures figures;
};

// figure_choice_test.cc selects them.
const std::set<std::string> kOnlyIfNamed{
    "DCGM_FI_DEV_FB_TOTAL",
    "DCGM_FI_DEV_FB_USED_PERCENT",
    "DCGM_FI_DEV_VIDEO_CLOCK",
    "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
    "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS",
    "DCGM_FI_DEV_ENFORCED_POWER_LIMIT",
    "DCGM_FI_DEV_POWER_MGMT_LIMIT_DEF",
    "DCGM_FI_DEV_SLOWDOWN_TEMP",
    "DCGM_FI_DEV_SHUTDOWN_TEMP",
    "DCGM_FI_DEV_PCIE_LINK_GEN",
    "DCGM_FI_DEV_PCIE_LINK_WIDTH",
    "DCGM_FI_DEV_PCIE_MAX_LINK_GEN",
    "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH",
    "DCGM_FI_DEV_ROW_REMAP_PENDING",
    "DCGM_FI_DEV_ECC_CURRENT",
    "DCGM_FI_DEV_PERSISTENCE_MODE",
    "DCGM_FI_DEV_COMPUTE_MODE",
};

class NvidiaMetrics : public NvidiaFixture {
 protected:
  // One row per GPU and MIG instance that has samples, in the module's order.
  std::vector<Row> collect() {
    const auto collected = run(module->call(CollectMetricsCall{}, soon()));
    EXPECT_TRUE(collected) << collected.error().message;
    std::vector<Row> rows;
    if (!collected) return rows;
    EXPECT_EQ((*collected)->left_out.count, 0u) << (*collected)->left_out.first;
    for (const MetricSample& sample : (*collected)->samples) {
      const MetricDeclaration& declared = module->identity().metrics.at(sample.metric);
      std::map<std::string, std::string> labels;
      for (std::size_t i = 0; i < declared.labels.size(); ++i)
        if (!sample.labels.at(i).empty() && !declared.labels[i].starts_with("err_"))
          labels[declared.labels[i]] = sample.labels[i];
      const auto known = std::ranges::find(rows, labels, &Row::labels);
      Row& row = known == rows.end() ? rows.emplace_back(Row{sample.device_id, labels, {}}) : *known;
      EXPECT_EQ(row.device, sample.device_id) << "all samples of a GPU or instance have one device";
      EXPECT_TRUE(row.figures.emplace(declared.name.substr(8), sample.value).second) << declared.name << " twice";
    }
    return rows;
  }
  Figures figures_of(const std::string& device_id) {
    for (const Row& row : collect())
      if (row.device == device_id) return row.figures;
    return {};
  }
  std::vector<std::string> devices_with_figures() {
    std::vector<std::string> devices;
    for (const Row& row : collect()) devices.push_back(row.device);
    return devices;
  }
  // Starts on a GPU in MIG mode with two instances of profile 14, at slices 0 and 2.
  std::pair<unsigned, unsigned> start_on_static_mig() {
    gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100"});
    gpus->set_mig_mode(0, true);
    const unsigned one = gpus->create_instance(0, 14, 0), other = gpus->create_instance(0, 14, 2);
    EXPECT_TRUE(start_again());
    discover();
    return {one, other};
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaMetrics, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NvidiaMetrics, FiguresHaveTheNamesAndTypesOfDcgmExporter) {
  ASSERT_TRUE(start_on({}));
  std::vector<std::string> gauges, counters;
  for (const MetricDeclaration& metric : module->identity().metrics) {
    std::vector<std::string> labels{
        "gpu", "UUID", "pci_bus_id", "modelName", "GPU_I_PROFILE", "GPU_I_ID", "DCGM_FI_DRIVER_VERSION"};
    if (metric.name == "DCGM_FI_DEV_XID_ERRORS") labels.insert(labels.end(), {"err_code", "err_msg"});
    EXPECT_EQ(metric.labels, labels) << metric.name;
    if (kOnlyIfNamed.contains(metric.name)) {
      EXPECT_EQ(metric.type, MetricType::kGauge) << metric.name;
      continue;
    }
    (metric.type == MetricType::kGauge ? gauges : counters).push_back(metric.name);
  }
  EXPECT_THAT(gauges, UnorderedElementsAre("DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_MEM_CLOCK", "DCGM_FI_DEV_GPU_TEMP",
                                           "DCGM_FI_DEV_MEMORY_TEMP", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_GPU_UTIL",
                                           "DCGM_FI_DEV_MEM_COPY_UTIL", "DCGM_FI_DEV_ENC_UTIL", "DCGM_FI_DEV_DEC_UTIL",
                                           "DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_USED",
                                           "DCGM_FI_DEV_FB_RESERVED", "DCGM_FI_DEV_ROW_REMAP_FAILURE",
                                           "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
                                           "DCGM_FI_PROF_DRAM_ACTIVE", "DCGM_FI_PROF_PCIE_TX_BYTES",
                                           "DCGM_FI_PROF_PCIE_RX_BYTES"));
  EXPECT_THAT(counters,
              UnorderedElementsAre("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
                                   "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
                                   "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
                                   "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL",
                                   "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", "DCGM_FI_DEV_RETIRED_SBE",
                                   "DCGM_FI_DEV_RETIRED_DBE", "DCGM_FI_DEV_RETIRED_PENDING",
                                   "DCGM_FI_DEV_POWER_VIOLATION", "DCGM_FI_DEV_THERMAL_VIOLATION",
                                   "DCGM_FI_DEV_SYNC_BOOST_VIOLATION", "DCGM_FI_DEV_BOARD_LIMIT_VIOLATION",
                                   "DCGM_FI_DEV_LOW_UTIL_VIOLATION", "DCGM_FI_DEV_RELIABILITY_VIOLATION"));
}

TEST_P(NvidiaMetrics, EachFigureIsWhatTheGpuTellsInTheUnitOfDcgm) {
  ASSERT_TRUE(start_on({.product = "h100"}));
  discover();
  {
    const auto state = gpus->state();
    fake_nvml::Gpu& gpu = state->gpus[0];
    gpu.clocks[nvml::kSmClock] = 1410;
    gpu.clocks[nvml::kMemoryClock] = 2619;
    gpu.temperature = 61;
    gpu.memory_temperature = 72;
    gpu.power_mw = 345'500;
    gpu.energy_mj = 5'000'000'001;
    gpu.pcie_replays = 3;
    gpu.gpu_percent = 97;
    gpu.memory_percent = 41;
    gpu.encoder_percent = 5;
    gpu.decoder_percent = 6;
    gpu.memory_total = 80 * kGib;
    gpu.memory_reserved = kGib / 2;
    gpu.memory_used = 20 * kGib;
    gpu.nvlink_kib[0] = 1'000'000;
    gpu.nvlink_kib[1] = 500'000;
    for (int i = 0; i < 6; ++i) gpu.violations_ns[i] = 100U + static_cast<unsigned>(i);
  }
  gpus->set_remapped_rows(0, {4, 0, 7, 0, 0, 1});
  gpus->set_ecc(0, nvml::kCorrected, nvml::kVolatile, 11);
  gpus->set_ecc(0, nvml::kUncorrected, nvml::kVolatile, 12);
  gpus->set_ecc(0, nvml::kCorrected, nvml::kAggregate, 13);
  gpus->set_ecc(0, nvml::kUncorrected, nvml::kAggregate, 14);
  EXPECT_EQ(figures_of(gpus->uuid(0)), (Figures{{"DEV_SM_CLOCK", 1410},
                                                {"DEV_MEM_CLOCK", 2619},
                                                {"DEV_GPU_TEMP", 61},
                                                {"DEV_MEMORY_TEMP", 72},
                                                {"DEV_POWER_USAGE", 345.5},
                                                {"DEV_TOTAL_ENERGY_CONSUMPTION", 5'000'000'001},
                                                {"DEV_PCIE_REPLAY_COUNTER", 3},
                                                {"DEV_GPU_UTIL", 97},
                                                {"DEV_MEM_COPY_UTIL", 41},
                                                {"DEV_ENC_UTIL", 5},
                                                {"DEV_DEC_UTIL", 6},
                                                {"DEV_FB_FREE", 80 * 1024 - 512 - 20 * 1024},
                                                {"DEV_FB_USED", 20 * 1024},
                                                {"DEV_FB_RESERVED", 512},
                                                {"DEV_NVLINK_BANDWIDTH_TOTAL", 1'500'000},
                                                {"DEV_CORRECTABLE_REMAPPED_ROWS", 4},
                                                {"DEV_UNCORRECTABLE_REMAPPED_ROWS", 7},
                                                {"DEV_ROW_REMAP_FAILURE", 1},
                                                {"DEV_ECC_SBE_VOL_TOTAL", 11},
                                                {"DEV_ECC_DBE_VOL_TOTAL", 12},
                                                {"DEV_ECC_SBE_AGG_TOTAL", 13},
                                                {"DEV_ECC_DBE_AGG_TOTAL", 14},
                                                {"DEV_POWER_VIOLATION", 100},
                                                {"DEV_THERMAL_VIOLATION", 101},
                                                {"DEV_SYNC_BOOST_VIOLATION", 102},
                                                {"DEV_BOARD_LIMIT_VIOLATION", 103},
                                                {"DEV_LOW_UTIL_VIOLATION", 104},
                                                {"DEV_RELIABILITY_VIOLATION", 105}}))
      << "an H100 never retires pages, and its activity and XIDs are still unknown";
  EXPECT_EQ(gpus->calls("nvmlDeviceGetFieldValues"), 1u) << "one call for all fields";
}

TEST_P(NvidiaMetrics, LabelsAreThoseOfDcgmExporter) {
  ASSERT_TRUE(start_on({.product = "h100", .gpus = 2}));
  discover();
  const std::vector<Row> rows = collect();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].device, gpus->uuid(1));
  std::string bus_id = "0000" + gpus->bus_id(1);  // 00000000:3B:00.0
  std::ranges::transform(bus_id, bus_id.begin(), [](char c) { return to_upper(c); });
  EXPECT_THAT(rows[1].labels,
              ElementsAre(Pair("DCGM_FI_DRIVER_VERSION", "580.65.06"), Pair("UUID", gpus->uuid(1)), Pair("gpu", "1"),
                          Pair("modelName", "NVIDIA H100 80GB HBM3"), Pair("pci_bus_id", bus_id)));
}

TEST_P(NvidiaMetrics, ActivityIsMeasuredFromOneCollectionToTheNext) {
  ASSERT_TRUE(start_on({.product = "h100"}));
  discover();
  EXPECT_THAT(figures_of(gpus->uuid(0)), Each(Key(StartsWith("DEV_"))));
  gpus->state()->gpus[0].gpm = {.graphics = 92.5, .tensor = 40, .dram = 12.5, .pcie_tx = 2, .pcie_rx = 0.5};
  EXPECT_THAT(figures_of(gpus->uuid(0)),
              IsSupersetOf({Pair("PROF_GR_ENGINE_ACTIVE", 0.925), Pair("PROF_PIPE_TENSOR_ACTIVE", 0.4),
                            Pair("PROF_DRAM_ACTIVE", 0.125), Pair("PROF_PCIE_TX_BYTES", 2.0 * 1024 * 1024),
                            Pair("PROF_PCIE_RX_BYTES", 512.0 * 1024)}));
  gpus->fail("nvmlGpmSampleGet", nvml::kUnknown);
  EXPECT_THAT(figures_of(gpus->uuid(0)), Each(Key(StartsWith("DEV_"))));
  EXPECT_THAT(figures_of(gpus->uuid(0)), Each(Key(StartsWith("DEV_")))) << "the means start again";
  EXPECT_THAT(figures_of(gpus->uuid(0)), Contains(Key("PROF_DRAM_ACTIVE")));
  ASSERT_TRUE(run(module->call(QuiesceCall{}, soon())));
  EXPECT_EQ(gpus->calls("nvmlGpmSampleFree"), gpus->calls("nvmlGpmSampleAlloc")) << "before the library is closed";
}

TEST_P(NvidiaMetrics, WhatAGpuOrDriverCannotTellIsLeftOut) {
  ASSERT_TRUE(start_on({.product = "t4", .driver = "470.256.02"}));
  discover();
  figures_of(gpus->uuid(0));
  const Figures old = figures_of(gpus->uuid(0));
  EXPECT_THAT(old, AllOf(Contains(Key("DEV_GPU_TEMP")), Contains(Key("DEV_FB_USED")), Contains(Key("DEV_RETIRED_SBE")),
                         Contains(Pair("DEV_RETIRED_PENDING", 0))));
  for (const char* name : {"DEV_FB_RESERVED", "DEV_MEMORY_TEMP", "DEV_CORRECTABLE_REMAPPED_ROWS",
                           "DEV_NVLINK_BANDWIDTH_TOTAL", "PROF_GR_ENGINE_ACTIVE"})
    EXPECT_THAT(old, Not(Contains(Key(name))));
  gpus->state()->gpus[0].memory_supported = false;
  gpus->fail("nvmlDeviceGetPowerUsage", nvml::kNotSupported);
  gpus->fail("nvmlDeviceGetFieldValues", nvml::kNotSupported);
  EXPECT_THAT(figures_of(gpus->uuid(0)),
              UnorderedElementsAre(Key("DEV_SM_CLOCK"), Key("DEV_MEM_CLOCK"), Key("DEV_GPU_TEMP"), Key("DEV_GPU_UTIL"),
                                   Key("DEV_MEM_COPY_UTIL"), Key("DEV_ENC_UTIL"), Key("DEV_DEC_UTIL")));
}

TEST_P(NvidiaMetrics, ADriverBefore510CountsReservedMemoryAsUsed) {
  ASSERT_TRUE(start_on({.product = "a100", .driver = "470.256.02"}));
  discover();
  {
    const auto state = gpus->state();
    state->gpus[0].memory_total = 40 * kGib;
    state->gpus[0].memory_reserved = kGib;
    state->gpus[0].memory_used = 2 * kGib;
  }
  EXPECT_THAT(figures_of(gpus->uuid(0)),
              AllOf(Contains(Pair("DEV_FB_USED", 3 * 1024)), Contains(Pair("DEV_FB_FREE", 37 * 1024))));
}

TEST_P(NvidiaMetrics, ALostGpuIsAskedOnceAndHidesNoOther) {
  ASSERT_TRUE(start_on({.product = "h100", .gpus = 3}));
  discover();
  EXPECT_THAT(devices_with_figures(), ElementsAre(gpus->uuid(0), gpus->uuid(1), gpus->uuid(2)));
  gpus->lose(1);
  const unsigned long long before = gpus->calls("nvmlDeviceGetClockInfo");
  EXPECT_THAT(devices_with_figures(), ElementsAre(gpus->uuid(0), gpus->uuid(2)))
      << "before discover has seen the fault";
  EXPECT_EQ(gpus->calls("nvmlDeviceGetClockInfo") - before, 2u * 2u);
  discover();
  const unsigned long long asked = gpus->calls("nvmlDeviceGetFieldValues");
  EXPECT_THAT(devices_with_figures(), ElementsAre(gpus->uuid(0), gpus->uuid(2)));
  EXPECT_EQ(gpus->calls("nvmlDeviceGetFieldValues") - asked, 2u) << "a GPU with a known fault is not queried";
  gpus->restore(1);
  discover();
  EXPECT_THAT(devices_with_figures(), ElementsAre(gpus->uuid(0), gpus->uuid(1), gpus->uuid(2)));
}

TEST_P(NvidiaMetrics, AReleasedGpuIsLeftAlone) {
  ASSERT_TRUE(start_on({.product = "h100", .gpus = 2}));
  discover();
  collect();
  ASSERT_TRUE(run(module->call(QuiesceDeviceCall{gpus->uuid(1)}, soon())));
  EXPECT_EQ(gpus->calls("nvmlGpmSampleFree"), gpus->calls("nvmlGpmSampleAlloc"));
  EXPECT_THAT(devices_with_figures(), ElementsAre(gpus->uuid(0)));
  ASSERT_TRUE(run(module->call(QuiesceDeviceCall{gpus->uuid(0)}, soon())));
  const unsigned long long opened = gpus->calls("nvmlInitWithFlags");
  EXPECT_THAT(devices_with_figures(), IsEmpty());
  EXPECT_EQ(gpus->calls("nvmlInitWithFlags"), opened) << "no GPU can be queried";
  ASSERT_TRUE(run(module->call(ResumeDeviceCall{gpus->uuid(1)}, soon())));
  discover();
  EXPECT_THAT(devices_with_figures(), ElementsAre(gpus->uuid(1)));
}

TEST_P(NvidiaMetrics, WhileTheModuleIsQuiescedNoFunctionOfNvmlIsCalled) {
  ASSERT_TRUE(start_on({.product = "h100"}));
  discover();
  collect();
  ASSERT_TRUE(run(module->call(QuiesceCall{}, soon())));
  const auto all_calls = [this] {
    unsigned long long sum = 0;
    for (const fake_nvml::Function& function : gpus->state()->functions) sum += function.calls;
    return sum;
  };
  const unsigned long long before = all_calls();
  EXPECT_THAT(collect(), IsEmpty());
  EXPECT_EQ(all_calls(), before);
  ASSERT_TRUE(run(module->call(ResumeCall{}, soon())));
  discover();
  EXPECT_THAT(devices_with_figures(), ElementsAre(gpus->uuid(0)));
}

TEST_P(NvidiaMetrics, WithoutADriverThereAreNone) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{});
  gpus->unload_driver();
  ASSERT_TRUE(start_again());
  discover();
  EXPECT_THAT(collect(), IsEmpty());
  gpus->load_driver();
  discover();
  EXPECT_THAT(devices_with_figures(), ElementsAre(gpus->uuid(0)));
  gpus->unload_driver();
  EXPECT_THAT(collect(), IsEmpty()) << "before discover has seen it";
  discover();
  EXPECT_THAT(collect(), IsEmpty());
  gpus->upgrade_driver("580.126.20");
  discover();
  const std::vector<Row> rows = collect();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_THAT(rows[0].labels, Contains(Pair("DCGM_FI_DRIVER_VERSION", "580.126.20")));
}

TEST_P(NvidiaMetrics, TheLastXidCountsFromTheStart) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100", .gpus = 2});
  ASSERT_TRUE(start_again({{"health_interval", std::string("1ms")}}));
  discover();
  EXPECT_THAT(figures_of(gpus->uuid(0)), Not(Contains(Key("DEV_XID_ERRORS")))) << "XIDs are not watched yet";
  pass_looks(1);
  EXPECT_THAT(figures_of(gpus->uuid(0)), Contains(Pair("DEV_XID_ERRORS", 0)));
  gpus->raise_xid(0, 79);
  gpus->raise_xid(0, 31);  // an XID that does not concern the health of the GPU counts, too
  pass_looks(1);
  EXPECT_THAT(figures_of(gpus->uuid(0)), Contains(Pair("DEV_XID_ERRORS", 31)));
  EXPECT_THAT(figures_of(gpus->uuid(1)), Contains(Pair("DEV_XID_ERRORS", 0)));
}

TEST_P(NvidiaMetrics, AnInstanceOfStaticMigIsADeviceAndItsGpuIsNone) {
  const auto [one, other] = start_on_static_mig();
  gpus->add_process(0, 4711, 3 * kGib, one, 0);
  gpus->state()->gpus[0].instances[other].gpm = {.graphics = 50, .tensor = 10, .dram = 20, .pcie_tx = 1, .pcie_rx = 1};
  collect();
  const std::vector<Row> rows = collect();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].device, "") << "the host would drop samples of a GPU that is not a device";
  EXPECT_THAT(rows[0].labels, AllOf(Contains(Pair("UUID", gpus->uuid(0))), Not(Contains(Key("GPU_I_ID")))));
  EXPECT_THAT(rows[0].figures, AllOf(Contains(Key("DEV_POWER_USAGE")), Not(Contains(Key("DEV_GPU_UTIL")))));
  EXPECT_EQ(rows[1].device, gpus->mig_uuid(0, one));
  EXPECT_THAT(rows[1].labels,
              AllOf(Contains(Pair("gpu", "0")), Contains(Pair("UUID", gpus->uuid(0))),
                    Contains(Pair("GPU_I_PROFILE", "2g.20gb")), Contains(Pair("GPU_I_ID", std::to_string(one)))));
  EXPECT_THAT(rows[1].figures, IsSupersetOf({Pair("DEV_FB_USED", 3 * 1024), Pair("DEV_FB_FREE", 20096 - 3 * 1024)}));
  EXPECT_EQ(rows[2].device, gpus->mig_uuid(0, other));
  EXPECT_THAT(rows[2].figures,
              UnorderedElementsAre(Pair("DEV_FB_USED", 0), Pair("DEV_FB_FREE", 20096), Pair("DEV_FB_RESERVED", 0),
                                   Pair("PROF_GR_ENGINE_ACTIVE", 0.5), Pair("PROF_PIPE_TENSOR_ACTIVE", 0.1),
                                   Pair("PROF_DRAM_ACTIVE", 0.2)));
}

TEST_P(NvidiaMetrics, AnInstanceThatIsGoneHasNoRowAndItsSuccessorNotItsOwn) {
  const auto [one, other] = start_on_static_mig();
  ASSERT_EQ(collect().size(), 3u);
  gpus->destroy_instance(0, one);
  EXPECT_THAT(devices_with_figures(), ElementsAre("", gpus->mig_uuid(0, other)));
  ASSERT_EQ(gpus->create_instance(0, 14, 0), one) << "the same numbers again";
  EXPECT_THAT(devices_with_figures(), ElementsAre("", gpus->mig_uuid(0, other)));
  discover();
  EXPECT_THAT(devices_with_figures(), ElementsAre("", gpus->mig_uuid(0, one), gpus->mig_uuid(0, other)));
}

TEST_P(NvidiaMetrics, AnInstanceOfDynamicMigHasTheDeviceThatTheClaimHolds) {
  ASSERT_TRUE(start_on({.product = "h100"}, {{"mig", std::string("dynamic")}}));
  EXPECT_EQ(collect().size(), 0u) << "before the first discover";
  ModuleClaim claim = claim_of("uid", {"gpu-0-mig-2g20gb-14-2"});
  ASSERT_TRUE(prepare(claim));
  discover();
  EXPECT_THAT(devices_with_figures(), ElementsAre(gpus->uuid(0), claim.allocations[0].device_id));
  ASSERT_TRUE(unprepare(claim));
  EXPECT_THAT(devices_with_figures(), ElementsAre(gpus->uuid(0)));
}

}  // namespace
}  // namespace cardcage
