// Readings of the fake driver that NVML reports in more than one way: they agree, and each number is in its place.
#include <gmock/gmock.h>

#include <vector>

#include "tests/nvidia/loaded_fake.h"

namespace cardcage {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;

class FakeReadingsTest : public ::testing::Test {
 protected:
  // The values of the fields; the driver must support all of them.
  std::vector<unsigned long long> fields(const std::vector<unsigned>& ids) const {
    std::vector<nvml::FieldValue> values;
    for (const unsigned id : ids) values.push_back(field_with_id(id));
    const int count = static_cast<int>(ids.size());
    EXPECT_EQ(fake.call.nvmlDeviceGetFieldValues(fake.device(), count, values.data()), nvml::kSuccess);
    std::vector<unsigned long long> numbers;
    for (const nvml::FieldValue& value : values) {
      EXPECT_EQ(value.nvmlReturn, nvml::kSuccess) << "field " << value.fieldId;
      numbers.push_back(value.valueType == 1 ? value.value.u : value.value.ull);
    }
    return numbers;
  }
  unsigned long long ecc(unsigned type, unsigned counter) const {
    unsigned long long errors = 99;
    EXPECT_EQ(fake.call.nvmlDeviceGetTotalEccErrors(fake.device(), type, counter, &errors), nvml::kSuccess);
    return errors;
  }
  LoadedFake fake{{.product = "h100", .gpus = 4}};
};

// Error type 0 is corrected and 1 uncorrected; counter 0 is volatile and 1 aggregate.
TEST_F(FakeReadingsTest, EccErrorsHaveAFieldForEachCounter) {
  fake.gpus.set_ecc(0, nvml::EccErrorType{0}, nvml::EccCounter{0}, 11);
  fake.gpus.set_ecc(0, nvml::EccErrorType{1}, nvml::EccCounter{0}, 12);
  fake.gpus.set_ecc(0, nvml::EccErrorType{0}, nvml::EccCounter{1}, 13);
  fake.gpus.set_ecc(0, nvml::EccErrorType{1}, nvml::EccCounter{1}, 14);
  EXPECT_EQ(ecc(0, 0), 11u);
  EXPECT_EQ(ecc(1, 0), 12u);
  EXPECT_EQ(ecc(0, 1), 13u);
  EXPECT_EQ(ecc(1, 1), 14u);
  EXPECT_THAT(fields({3, 4, 5, 6}), ElementsAre(11, 12, 13, 14));
}

TEST_F(FakeReadingsTest, AResetClearsVolatileErrorsOnly) {
  fake.gpus.set_ecc(0, nvml::EccErrorType{1}, nvml::EccCounter{0}, 2);
  fake.gpus.set_ecc(0, nvml::EccErrorType{1}, nvml::EccCounter{1}, 3);
  fake.gpus.reset(0);
  EXPECT_EQ(ecc(1, 0), 0u);
  EXPECT_EQ(ecc(1, 1), 3u);
}

TEST_F(FakeReadingsTest, RemappedRowsAreTheSameInAllCallsAndFields) {
  fake.gpus.set_remapped_rows(0, {3, 0, 5, 0, 1, 1});
  nvml::RemappedRows2 rows{};
  ASSERT_EQ(fake.call.nvmlDeviceGetRemappedRows_v2(fake.device(), &rows), nvml::kSuccess);
  EXPECT_EQ(rows.correctableActive, 3u);
  EXPECT_EQ(rows.uncorrectableActive, 5u);
  EXPECT_EQ(rows.pending, 1u);
  EXPECT_EQ(rows.failure, 1u);
  unsigned correctable = 0, uncorrectable = 0, pending = 0, failure = 0;
  ASSERT_EQ(fake.call.nvmlDeviceGetRemappedRows(fake.device(), &correctable, &uncorrectable, &pending, &failure),
            nvml::kSuccess);
  EXPECT_EQ(correctable, 3u);
  EXPECT_EQ(uncorrectable, 5u);
  EXPECT_EQ(pending, 1u);
  EXPECT_EQ(failure, 1u);
  EXPECT_THAT(fields({142, 143, 144, 145}), ElementsAre(3, 5, 1, 1));
}

TEST_F(FakeReadingsTest, TheTemperatureIsTheSameInBothCallsAndTheMarginFollows) {
  const auto margin = [this] {
    auto left = tagged<nvml::MarginTemperature>(0x01000008);
    EXPECT_EQ(fake.call.nvmlDeviceGetMarginTemperature(fake.device(), &left), nvml::kSuccess);
    return left.marginTemperature;
  };
  fake.gpus.set_temperature(0, 40);
  const int before = margin();
  fake.gpus.set_temperature(0, 47);
  unsigned older = 0;
  EXPECT_EQ(fake.call.nvmlDeviceGetTemperature(fake.device(), 0, &older), nvml::kSuccess);
  EXPECT_EQ(older, 47u);
  auto newer = tagged<nvml::Temperature>(0x0100000c);
  EXPECT_EQ(fake.call.nvmlDeviceGetTemperatureV(fake.device(), &newer), nvml::kSuccess);
  EXPECT_EQ(newer.temperature, 47);
  EXPECT_EQ(margin(), before - 7);
}

// As L40S and T4 in clouds report it.
TEST_F(FakeReadingsTest, ALinkMayHaveFewerLanesThanTheCardCouldUse) {
  fake.gpus.set_link_width(0, 8);
  unsigned current = 0, most = 0;
  ASSERT_EQ(fake.call.nvmlDeviceGetCurrPcieLinkWidth(fake.device(), &current), 0);
  ASSERT_EQ(fake.call.nvmlDeviceGetMaxPcieLinkWidth(fake.device(), &most), 0);
  EXPECT_EQ(current, 8u);
  EXPECT_EQ(most, 16u);
}

TEST_F(FakeReadingsTest, EnergyAndReplaysHaveFields) {
  unsigned long long energy = 0;
  ASSERT_EQ(fake.call.nvmlDeviceGetTotalEnergyConsumption(fake.device(), &energy), nvml::kSuccess);
  EXPECT_THAT(fields({83}), ElementsAre(energy));
  unsigned replays = 99;
  ASSERT_EQ(fake.call.nvmlDeviceGetPcieReplayCounter(fake.device(), &replays), nvml::kSuccess);
  EXPECT_THAT(fields({94}), ElementsAre(replays));
}

TEST_F(FakeReadingsTest, ClockReasonsHaveAnOlderName) {
  unsigned long long newer = 0, older = 0;
  fake.gpus.state()->gpus[0].clock_reasons = 0x44;
  ASSERT_EQ(fake.call.nvmlDeviceGetCurrentClocksEventReasons(fake.device(), &newer), nvml::kSuccess);
  ASSERT_EQ(fake.call.nvmlDeviceGetCurrentClocksThrottleReasons(fake.device(), &older), nvml::kSuccess);
  EXPECT_EQ(newer, 0x44u);
  EXPECT_EQ(older, 0x44u);
}

TEST_F(FakeReadingsTest, TrafficAndLimitedClocksHaveFields) {
  fake.gpus.state()->gpus[0].nvlink_kib[0] = 7;
  fake.gpus.state()->gpus[0].nvlink_kib[1] = 8;
  for (unsigned i = 0; i < 6; ++i) fake.gpus.state()->gpus[0].violations_ns[i] = 10 + i;
  EXPECT_THAT(fields({138, 139, 74, 75, 76, 77, 78, 79}), ElementsAre(7, 8, 10, 11, 12, 13, 14, 15));
}

TEST_F(FakeReadingsTest, ActivityNeedsTwoSamplesOfTheSameGpuInTheirOrder) {
  nvml::GpmSupport support{.version = 1, .isSupportedDevice = 0};
  ASSERT_EQ(fake.call.nvmlGpmQueryDeviceSupport(fake.device(), &support), nvml::kSuccess);
  EXPECT_EQ(support.isSupportedDevice, 1u);
  nvml::GpmMetricsGet request{};
  const auto compare = [&](nvml::GpmSample first, nvml::GpmSample second) {
    request.version = 1;
    request.numMetrics = 2;
    request.sample1 = first;
    request.sample2 = second;
    request.metrics[0].metricId = 5;   // tensor cores
    request.metrics[1].metricId = 99;  // no such metric
    return fake.call.nvmlGpmMetricsGet(&request);
  };
  nvml::GpmSample first = nullptr, second = nullptr, other = nullptr;
  for (nvml::GpmSample* sample : {&first, &second, &other})
    ASSERT_EQ(fake.call.nvmlGpmSampleAlloc(sample), nvml::kSuccess);
  EXPECT_EQ(compare(first, second), 2) << "invalid argument: they are empty";
  ASSERT_EQ(fake.call.nvmlGpmSampleGet(fake.device(0), first), nvml::kSuccess);
  fake.gpus.state()->gpus[0].gpm.tensor = 37.5;
  ASSERT_EQ(fake.call.nvmlGpmSampleGet(fake.device(0), second), nvml::kSuccess);
  ASSERT_EQ(fake.call.nvmlGpmSampleGet(fake.device(1), other), nvml::kSuccess);
  EXPECT_EQ(compare(second, first), 2);
  EXPECT_EQ(compare(first, other), 2);
  ASSERT_EQ(compare(first, second), nvml::kSuccess);
  EXPECT_EQ(request.metrics[0].nvmlReturn, nvml::kSuccess);
  EXPECT_EQ(request.metrics[0].value, 37.5);
  EXPECT_EQ(request.metrics[1].nvmlReturn, nvml::kNotSupported);
  EXPECT_EQ(fake.call.nvmlGpmMigSampleGet(fake.device(0), 1, second), 2) << "there is no such instance";
  for (nvml::GpmSample sample : {first, second, other}) EXPECT_EQ(fake.call.nvmlGpmSampleFree(sample), nvml::kSuccess);
}

TEST_F(FakeReadingsTest, FabricIsTheSameInAllVersionsOfTheStruct) {
  fake.gpus.set_fabric(0, nvml::FabricState{3}, nvml::kSuccess, 32766, 0x2a, 2);
  auto third = tagged<nvml::GpuFabricInfo3>(0x03000028);
  auto second = tagged<nvml::GpuFabricInfo2>(0x02000024);
  nvml::GpuFabricInfo first{};
  ASSERT_EQ(fake.call.nvmlDeviceGetGpuFabricInfoV(fake.device(), &third), nvml::kSuccess);
  ASSERT_EQ(fake.call.nvmlDeviceGetGpuFabricInfoV(fake.device(), &second), nvml::kSuccess);
  ASSERT_EQ(fake.call.nvmlDeviceGetGpuFabricInfo(fake.device(), &first), nvml::kSuccess);
  EXPECT_THAT((std::vector<int>{first.state, second.state, third.state}), Each(3)) << "completed";
  EXPECT_THAT((std::vector<int>{first.status, second.status, third.status}), Each(0));
  EXPECT_THAT((std::vector<unsigned>{first.cliqueId, second.cliqueId, third.cliqueId}), Each(32766));
  EXPECT_THAT((std::vector<unsigned>{second.healthMask, third.healthMask}), Each(0x2a));
  EXPECT_EQ(third.healthSummary, 2) << "unhealthy";
}

TEST_F(FakeReadingsTest, LinksLeadToSwitchesAndEndWithAnInvalidArgument) {
  unsigned state = 99, remote = 99;
  for (unsigned link = 0; link < 18; ++link) {
    ASSERT_EQ(fake.call.nvmlDeviceGetNvLinkState(fake.device(), link, &state), nvml::kSuccess) << link;
    EXPECT_EQ(state, 1u);
    ASSERT_EQ(fake.call.nvmlDeviceGetNvLinkRemoteDeviceType(fake.device(), link, &remote), nvml::kSuccess);
    EXPECT_EQ(remote, 2u) << "a switch";
  }
  EXPECT_EQ(fake.call.nvmlDeviceGetNvLinkState(fake.device(), 18, &state), 2) << "invalid argument";
  EXPECT_THAT(fields({91}), ElementsAre(18));
  fake.gpus.cut_nvlink(0, 4);
  ASSERT_EQ(fake.call.nvmlDeviceGetNvLinkState(fake.device(), 4, &state), nvml::kSuccess);
  EXPECT_EQ(state, 0u);
}

TEST_F(FakeReadingsTest, TopologyLevelsAreThoseOfTheEnumeration) {
  for (unsigned other = 1; other < 4; ++other) {
    unsigned there = 99, back = 99;
    ASSERT_EQ(fake.call.nvmlDeviceGetTopologyCommonAncestor(fake.device(0), fake.device(other), &there), 0);
    ASSERT_EQ(fake.call.nvmlDeviceGetTopologyCommonAncestor(fake.device(other), fake.device(0), &back), 0);
    EXPECT_THAT(there, AnyOf(0, 10, 20, 30, 40, 50));
    EXPECT_EQ(there, back);
  }
}

}  // namespace
}  // namespace cardcage
