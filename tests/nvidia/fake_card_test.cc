// Properties of the fake cards: identity, memory, sensors, repair. The expected numbers are those of a listing of a
// card (`nvidia-smi -q`) and of the NVML API reference.
#include <gmock/gmock.h>

#include <cctype>
#include <cstdio>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "tests/nvidia/loaded_fake.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr unsigned long long kMiB = 1ull << 20;

struct Product {
  std::string title, name, model;
  unsigned architecture;
  int major, minor;
  bool mig, resetless_mig, remaps_rows;
};

void PrintTo(const Product& product, std::ostream* out) { *out << product.name; }
std::string product_title(const ::testing::TestParamInfo<Product>& product) { return product.param.title; }

const Product kProducts[] = {
    {"T4", "t4", "T4", 6, 7, 5, false, false, false},
    {"A30", "a30", "A30", 7, 8, 0, true, false, true},
    {"A100", "a100", "A100", 7, 8, 0, true, false, true},
    {"L40S", "l40s", "L40S", 8, 8, 9, false, false, true},
    {"H100", "h100", "H100 80GB HBM3", 9, 9, 0, true, true, true},
    {"H200", "h200", "H200", 9, 9, 0, true, true, true},
    {"B200", "b200", "B200", 10, 10, 0, true, true, true},
    {"RtxPro6000", "rtx-pro-6000", "RTX PRO 6000 Blackwell", 10, 12, 0, true, true, true},
};

class FakeProductTest : public ::testing::TestWithParam<Product> {
 protected:
  LoadedFake fake{{.product = GetParam().name, .gpus = 2}};
  nvml::Device device = fake.device();
};

TEST_P(FakeProductTest, HasItsNameAndArchitecture) {
  char name[96] = {};
  ASSERT_EQ(fake.call.nvmlDeviceGetName(device, name, 96), nvml::kSuccess);
  EXPECT_THAT(name, HasSubstr(GetParam().model));
  unsigned architecture = 0, brand = 99;
  ASSERT_EQ(fake.call.nvmlDeviceGetArchitecture(device, &architecture), nvml::kSuccess);
  EXPECT_EQ(architecture, GetParam().architecture);
  ASSERT_EQ(fake.call.nvmlDeviceGetBrand(device, &brand), nvml::kSuccess);
  EXPECT_LE(brand, 16u);
  int major = 0, minor = 0;
  ASSERT_EQ(fake.call.nvmlDeviceGetCudaComputeCapability(device, &major, &minor), nvml::kSuccess);
  EXPECT_EQ(major, GetParam().major);
  EXPECT_EQ(minor, GetParam().minor);
}

TEST_P(FakeProductTest, HasIdentitiesOfItsOwn) {
  std::set<std::string> uuids, bus_ids;
  std::set<unsigned> minors;
  for (unsigned index = 0; index < 2; ++index) {
    char uuid[96] = {};
    ASSERT_EQ(fake.call.nvmlDeviceGetUUID(fake.device(index), uuid, 96), nvml::kSuccess);
    EXPECT_THAT(uuid, MatchesRegex("GPU-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
    uuids.insert(uuid);
    unsigned minor = 99;
    ASSERT_EQ(fake.call.nvmlDeviceGetMinorNumber(fake.device(index), &minor), nvml::kSuccess);
    minors.insert(minor);
    nvml::PciInfo pci{};
    ASSERT_EQ(fake.call.nvmlDeviceGetPciInfo_v3(fake.device(index), &pci), nvml::kSuccess);
    bus_ids.insert(pci.busId);
  }
  EXPECT_EQ(uuids.size(), 2u);
  EXPECT_EQ(minors.size(), 2u);
  EXPECT_EQ(bus_ids.size(), 2u);
}

TEST_P(FakeProductTest, WritesPciAddressesAsTheDriverDoes) {
  nvml::PciInfo pci{};
  ASSERT_EQ(fake.call.nvmlDeviceGetPciInfo_v3(device, &pci), nvml::kSuccess);
  EXPECT_EQ(pci.pciDeviceId & 0xffff, 0x10deu) << "the vendor is in the lower half";
  EXPECT_THAT(pci.busId, MatchesRegex("[0-9A-F]{8}:[0-9A-F]{2}:[0-9A-F]{2}\\.0"));
  EXPECT_THAT(pci.busIdLegacy, MatchesRegex("[0-9A-F]{4}:[0-9A-F]{2}:[0-9A-F]{2}\\.0"));
  EXPECT_EQ(std::string(pci.busId).substr(4), pci.busIdLegacy);
  char expected[32];
  std::snprintf(expected, sizeof expected, "%08X:%02X:%02X.0", pci.domain, pci.bus, pci.device);
  EXPECT_STREQ(pci.busId, expected);
  std::string lower = std::string(pci.busId).substr(4);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string& spelling : {std::string(pci.busId), std::string(pci.busIdLegacy), lower}) {
    nvml::Device found = nullptr;
    EXPECT_EQ(fake.call.nvmlDeviceGetHandleByPciBusId_v2(spelling.c_str(), &found), nvml::kSuccess) << spelling;
    EXPECT_EQ(found, device);
  }
}

// Version 1 counts reserved memory as used, version 2 reports it separately.
TEST_P(FakeProductTest, TellsTheSameMemoryInBothVersions) {
  nvml::Memory first{};
  auto second = tagged<nvml::Memory2>(0x02000028);
  ASSERT_EQ(fake.call.nvmlDeviceGetMemoryInfo(device, &first), nvml::kSuccess);
  ASSERT_EQ(fake.call.nvmlDeviceGetMemoryInfo_v2(device, &second), nvml::kSuccess);
  EXPECT_EQ(first.total, second.total);
  EXPECT_EQ(first.free, second.free);
  EXPECT_EQ(first.used, second.used + second.reserved);
  EXPECT_EQ(first.total, first.free + first.used);
  EXPECT_GT(second.reserved, 0u);
}

TEST_P(FakeProductTest, RemapsRowsSinceAmpereAndRetiresPagesBefore) {
  const nvml::Return rows_code = GetParam().remaps_rows ? nvml::kSuccess : nvml::kNotSupported;
  nvml::RemappedRows2 rows{};
  EXPECT_EQ(fake.call.nvmlDeviceGetRemappedRows_v2(device, &rows), rows_code);
  unsigned correctable = 0, uncorrectable = 0, pending = 0, failure = 0;
  EXPECT_EQ(fake.call.nvmlDeviceGetRemappedRows(device, &correctable, &uncorrectable, &pending, &failure), rows_code);
  unsigned count = 0;
  unsigned long long none = 0;
  EXPECT_EQ(fake.call.nvmlDeviceGetRetiredPages_v2(device, 1, &count, &none, &none),
            GetParam().remaps_rows ? nvml::kNotSupported : nvml::kSuccess);
}

// Field 184: MIG mode changes without a reset, which Hopper and later can.
TEST_P(FakeProductTest, ChangesMigModeWithoutResetSinceHopper) {
  unsigned current = 7, pending = 7;
  EXPECT_EQ(fake.call.nvmlDeviceGetMigMode(device, &current, &pending), GetParam().mig ? 0 : 3);
  if (!GetParam().mig) return;
  EXPECT_EQ(current, 0u);
  EXPECT_EQ(pending, 0u);
  nvml::FieldValue value = field_with_id(184);
  ASSERT_EQ(fake.call.nvmlDeviceGetFieldValues(device, 1, &value), nvml::kSuccess);
  ASSERT_EQ(value.nvmlReturn, nvml::kSuccess);
  EXPECT_EQ(value.value.u, GetParam().resetless_mig ? 1u : 0u);
  nvml::Return activation = nvml::kUnknown;
  EXPECT_EQ(fake.call.nvmlDeviceSetMigMode(device, 1, &activation), nvml::kSuccess) << "the request is stored";
  EXPECT_EQ(activation == nvml::kSuccess, GetParam().resetless_mig);
}

INSTANTIATE_TEST_SUITE_P(Products, FakeProductTest, ::testing::ValuesIn(kProducts), product_title);

unsigned pci_id(const LoadedFake& fake) {
  nvml::PciInfo pci{};
  EXPECT_EQ(fake.call.nvmlDeviceGetPciInfo_v3(fake.device(), &pci), nvml::kSuccess);
  return pci.pciDeviceId;
}
nvml::Memory2 memory(const LoadedFake& fake) {
  auto memory = tagged<nvml::Memory2>(0x02000028);
  EXPECT_EQ(fake.call.nvmlDeviceGetMemoryInfo_v2(fake.device(), &memory), nvml::kSuccess);
  return memory;
}
unsigned clock(const LoadedFake& fake, unsigned type) {
  unsigned mhz = 0;
  EXPECT_EQ(fake.call.nvmlDeviceGetClockInfo(fake.device(), type, &mhz), nvml::kSuccess);
  return mhz;
}

TEST(FakeH100Test, HasThePciIdAndTheMemoryOfTheCard) {
  const LoadedFake fake({.product = "h100"});
  EXPECT_EQ(pci_id(fake), 0x233010DEu);
  EXPECT_EQ(memory(fake).total / kMiB, 81559u);
  EXPECT_EQ(memory(fake).reserved / kMiB, 480u);
  nvml::Bar1Memory bar1{};
  const auto get_bar1 = fake.find<nvml::Return(nvml::Device, nvml::Bar1Memory*)>("nvmlDeviceGetBAR1MemoryInfo");
  ASSERT_NE(get_bar1, nullptr);
  ASSERT_EQ(get_bar1(fake.device(), &bar1), nvml::kSuccess);
  EXPECT_EQ(bar1.total / kMiB, 131072u);
  EXPECT_EQ(bar1.total, bar1.free + bar1.used);
}

TEST(FakeH100Test, HasThePowerTheClocksAndTheLimitsOfTheCard) {
  const LoadedFake fake({.product = "h100"});
  unsigned enforced = 0, limit = 0;
  EXPECT_EQ(fake.call.nvmlDeviceGetEnforcedPowerLimit(fake.device(), &enforced), nvml::kSuccess);
  EXPECT_EQ(fake.call.nvmlDeviceGetPowerManagementDefaultLimit(fake.device(), &limit), nvml::kSuccess);
  EXPECT_EQ(enforced, 700'000u) << "mW";
  EXPECT_EQ(limit, 700'000u);
  EXPECT_EQ(clock(fake, 0), 1980u) << "graphics";
  EXPECT_EQ(clock(fake, 1), 1980u) << "SM";
  EXPECT_EQ(clock(fake, 2), 2619u) << "memory";
  auto margin = tagged<nvml::MarginTemperature>(0x01000008);
  EXPECT_EQ(fake.call.nvmlDeviceGetMarginTemperature(fake.device(), &margin), nvml::kSuccess);
  EXPECT_EQ(margin.marginTemperature, 58);
  nvml::FieldValue limits[] = {field_with_id(193), field_with_id(194), field_with_id(196)};
  ASSERT_EQ(fake.call.nvmlDeviceGetFieldValues(fake.device(), 3, limits), nvml::kSuccess);
  EXPECT_EQ(limits[0].value.s, -8) << "shutdown";
  EXPECT_EQ(limits[1].value.s, -2) << "slowdown";
  EXPECT_EQ(limits[2].value.s, 0) << "maximum of the GPU";
}

TEST(FakeH100Test, HasTheRemapBanksOfTheCard) {
  const LoadedFake fake({.product = "h100"});
  const auto get =
      fake.find<nvml::Return(nvml::Device, nvml::RowRemapperHistogram*)>("nvmlDeviceGetRowRemapperHistogram");
  ASSERT_NE(get, nullptr);
  nvml::RowRemapperHistogram banks{};
  ASSERT_EQ(get(fake.device(), &banks), nvml::kSuccess);
  EXPECT_EQ(banks.max, 2560u);
  EXPECT_EQ(banks.high + banks.partial + banks.low + banks.none, 0u);
}

TEST(FakeH100Test, HasTheModuleIdsOfABoardOfEight) {
  const LoadedFake fake({.product = "h100", .gpus = 8});
  std::vector<unsigned> ids;
  for (unsigned index = 0; index < 8; ++index) {
    unsigned id = 0;
    ASSERT_EQ(fake.call.nvmlDeviceGetModuleId(fake.device(index), &id), nvml::kSuccess);
    ids.push_back(id);
  }
  EXPECT_THAT(ids, ElementsAre(7, 5, 6, 8, 1, 3, 4, 2));
}

TEST(FakeH200Test, HasThePciIdAndTheMemoryOfTheCard) {
  const LoadedFake fake({.product = "h200"});
  EXPECT_EQ(pci_id(fake), 0x233510DEu);
  EXPECT_EQ(memory(fake).total / kMiB, 143771u);
}

TEST(FakeA30Test, HasAboutTheMemoryOfTheCard) {
  const LoadedFake fake({.product = "a30"});
  EXPECT_GE(memory(fake).total / kMiB, 24125u);
  EXPECT_LE(memory(fake).total / kMiB, 24576u);
}

TEST(FakeDriverTest, TellsItsVersions) {
  const LoadedFake fake({.driver = "580.65.06"});
  char version[80] = {};
  ASSERT_EQ(fake.call.nvmlSystemGetDriverVersion(version, 80), nvml::kSuccess);
  EXPECT_STREQ(version, "580.65.06");
  int cuda = 0;
  ASSERT_EQ(fake.call.nvmlSystemGetCudaDriverVersion_v2(&cuda), nvml::kSuccess);
  EXPECT_EQ(cuda, 13000) << "1000 * major + 10 * minor";
}

TEST(FakeDriverTest, HasATextForEveryCode) {
  const LoadedFake fake;
  const auto text = fake.find<const char*(nvml::Return)>("nvmlErrorString");
  ASSERT_NE(text, nullptr);
  for (const int code : {0, 1, 2, 3, 10, 15, 19, 23, 25, 28, 30, 999, 12345}) {
    ASSERT_NE(text(static_cast<nvml::Return>(code)), nullptr) << code;
    EXPECT_STRNE(text(static_cast<nvml::Return>(code)), "") << code;
  }
  EXPECT_STREQ(text(nvml::kLibRmVersionMismatch), "Driver/library version mismatch");
}

}  // namespace
}  // namespace cardcage
