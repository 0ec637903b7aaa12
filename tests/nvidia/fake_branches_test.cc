// Functions, structs and values that a driver branch has or lacks, as the change log of the NVML API reference says.
#include <gmock/gmock.h>

#include <ostream>
#include <string>

#include "tests/nvidia/loaded_fake.h"

namespace cardcage {
namespace {

struct Branch {
  unsigned number;
  std::string driver;
};

void PrintTo(const Branch& branch, std::ostream* out) { *out << branch.driver; }
std::string branch_title(const ::testing::TestParamInfo<Branch>& branch) {
  return "Driver" + std::to_string(branch.param.number);
}

class FakeBranchTest : public ::testing::TestWithParam<Branch> {
 protected:
  bool since(unsigned branch) const { return GetParam().number >= branch; }
  nvml::Return field(unsigned id) const {
    nvml::FieldValue value = field_with_id(id);
    EXPECT_EQ(fake.call.nvmlDeviceGetFieldValues(device, 1, &value), nvml::kSuccess);
    return value.nvmlReturn;
  }
  LoadedFake fake{{.product = "h100", .driver = GetParam().driver}};
  nvml::Device device = fake.device();
};

TEST_P(FakeBranchTest, ExportsTheFunctionsOfItsTime) {
  const struct {
    unsigned since;
    const char* name;
  } functions[] = {
      {0, "nvmlInit_v2"},
      {0, "nvmlDeviceGetPciInfo_v3"},
      {0, "nvmlDeviceGetMemoryInfo"},
      {0, "nvmlDeviceGetRemappedRows"},
      {0, "nvmlDeviceGetMigMode"},
      {0, "nvmlDeviceGetComputeRunningProcesses_v2"},
      {0, "nvmlDeviceGetCurrentClocksThrottleReasons"},
      {520, "nvmlGpmQueryDeviceSupport"},
      {520, "nvmlGpmSampleAlloc"},
      {520, "nvmlGpmSampleFree"},
      {520, "nvmlGpmSampleGet"},
      {520, "nvmlGpmMigSampleGet"},
      {520, "nvmlGpmMetricsGet"},
      {525, "nvmlDeviceGetComputeRunningProcesses_v3"},
      {525, "nvmlDeviceGetGraphicsRunningProcesses_v3"},
      {525, "nvmlDeviceGetMPSComputeRunningProcesses_v3"},
      {535, "nvmlDeviceGetSramEccErrorStatus"},
      {535, "nvmlDeviceGetModuleId"},
      {535, "nvmlDeviceGetCurrentClocksEventReasons"},
      {550, "nvmlDeviceGetGpuFabricInfoV"},
      {570, "nvmlDeviceGetMarginTemperature"},
      {580, "nvmlDeviceGetRemappedRows_v2"},
      {580, "nvmlDeviceGetAddressingMode"},
  };
  for (const auto& function : functions) EXPECT_EQ(fake.exports(function.name), since(function.since)) << function.name;
}

TEST_P(FakeBranchTest, KnowsTheStructsOfItsTime) {
  if (since(550)) {
    auto second = tagged<nvml::GpuFabricInfo2>(0x02000024);
    auto third = tagged<nvml::GpuFabricInfo3>(0x03000028);
    EXPECT_EQ(fake.call.nvmlDeviceGetGpuFabricInfoV(device, &second), nvml::kSuccess);
    EXPECT_EQ(fake.call.nvmlDeviceGetGpuFabricInfoV(device, &third), since(580) ? 0 : 25);
  }
  fake.enable_mig();
  device = fake.device();
  if (fake.call.nvmlDeviceGetGpuInstanceProfileInfoV == nullptr) return;
  auto second = tagged<nvml::GpuInstanceProfileInfo2>(0x02000098);
  auto third = tagged<nvml::GpuInstanceProfileInfo3>(0x03000098);
  EXPECT_EQ(fake.call.nvmlDeviceGetGpuInstanceProfileInfoV(device, 0, &second), nvml::kSuccess);
  EXPECT_EQ(fake.call.nvmlDeviceGetGpuInstanceProfileInfoV(device, 0, &third), since(545) ? 0 : 25);
}

TEST_P(FakeBranchTest, KnowsTheFieldsOfItsTime) {
  EXPECT_EQ(field(142), nvml::kSuccess) << "remapped rows";
  EXPECT_EQ(field(184), since(535) ? 0 : 3) << "MIG mode without reset";
  EXPECT_EQ(field(193), since(535) ? 0 : 3) << "T.Limit";
  EXPECT_EQ(field(197), since(555) ? 0 : 3) << "bytes sent over PCIe";
  EXPECT_EQ(field(230), since(565) ? 0 : 3) << "recovery action";
}

TEST_P(FakeBranchTest, KnowsTheEventsOfItsTime) {
  unsigned long long types = 0;
  ASSERT_EQ(fake.call.nvmlDeviceGetSupportedEventTypes(device, &types), nvml::kSuccess);
  EXPECT_EQ(types & 0x8, 0x8u) << "XID";
  EXPECT_EQ(types & 0x3e00, since(560) ? 0x3e00u : 0u) << "storms, retirement and poison";
  EXPECT_EQ(types & 0xc000, since(565) ? 0xc000u : 0u) << "unavailable GPU, recovery action";
  nvml::EventSet set = nullptr;
  ASSERT_EQ(fake.call.nvmlEventSetCreate(&set), nvml::kSuccess);
  EXPECT_EQ(fake.call.nvmlDeviceRegisterEvents(device, 0x8008, set), since(565) ? 0 : 3);
}

INSTANTIATE_TEST_SUITE_P(Branches, FakeBranchTest,
                         ::testing::Values(Branch{470, "470.256.02"}, Branch{525, "525.147.05"},
                                           Branch{535, "535.161.08"}, Branch{550, "550.54.15"},
                                           Branch{565, "565.57.01"}, Branch{570, "570.86.15"},
                                           Branch{580, "580.65.06"}),
                         branch_title);

}  // namespace
}  // namespace cardcage
