// The GPU instance profiles of each product in the fake driver. The expected numbers are those that `nvidia-smi mig
// -lgip` and `-lgipp` print for a card, and the indices those of the NVML API reference.
#include <gmock/gmock.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/nvidia/loaded_fake.h"

namespace cardcage {
namespace {

using ::testing::ElementsAreArray;
using ::testing::UnorderedElementsAreArray;

constexpr unsigned kUnlisted = 0xffff;  // missing in listings, or listings differ

struct Engines {
  unsigned copy, decoders, jpeg, encoders, ofa;
  bool operator==(const Engines&) const = default;
};

constexpr Engines kUnlistedEngines = {kUnlisted, kUnlisted, kUnlisted, kUnlisted, kUnlisted};

struct Listed {
  unsigned index;  // NVML_GPU_INSTANCE_PROFILE_*
  unsigned id;     // as nvidia-smi prints it
  std::string name;
  std::vector<unsigned> starts;
  unsigned size, instances;
  double gib;  // rounded to two digits
  unsigned multiprocessors;
  Engines engines;
};

struct Card {
  std::string title, product;
  std::vector<Listed> profiles;
};

void PrintTo(const Card& card, std::ostream* out) { *out << card.product; }
std::string card_title(const ::testing::TestParamInfo<Card>& card) { return card.param.title; }

const std::vector<unsigned> kSeven = {0, 1, 2, 3, 4, 5, 6};

const Card kCards[] = {
    {"A100_40GB",
     "a100",
     {{0, 19, "MIG 1g.5gb", kSeven, 1, 7, 4.75, 14, {1, 0, 0, 0, 0}},
      {7, 20, "MIG 1g.5gb+me", kSeven, 1, 1, 4.75, 14, {1, 1, 1, 0, 1}},
      {9, 15, "MIG 1g.10gb", {0, 2, 4, 6}, 2, 4, 9.62, 14, {1, 1, 0, 0, 0}},
      {1, 14, "MIG 2g.10gb", {0, 2, 4}, 2, 3, 9.62, 28, {2, 1, 0, 0, 0}},
      {2, 9, "MIG 3g.20gb", {0, 4}, 4, 2, 19.50, 42, {3, 2, 0, 0, 0}},
      {3, 5, "MIG 4g.20gb", {0}, 4, 1, 19.50, 56, {4, 2, 0, 0, 0}},
      {4, 0, "MIG 7g.40gb", {0}, 8, 1, 39.25, 98, {7, 5, 1, 0, 1}}}},
    {"H100_80GB",
     "h100",
     {{0, 19, "MIG 1g.10gb", kSeven, 1, 7, 9.75, 16, {1, 1, 1, 0, 0}},
      {7, 20, "MIG 1g.10gb+me", kSeven, 1, 1, 9.75, 16, {1, 1, 1, 0, 1}},
      {9, 15, "MIG 1g.20gb", {0, 2, 4, 6}, 2, 4, 19.62, 26, {1, 1, 1, 0, 0}},
      {1, 14, "MIG 2g.20gb", {0, 2, 4}, 2, 3, 19.62, 32, {2, 2, 2, 0, 0}},
      {2, 9, "MIG 3g.40gb", {0, 4}, 4, 2, 39.50, 60, {3, 3, 3, 0, 0}},
      {3, 5, "MIG 4g.40gb", {0}, 4, 1, 39.50, 64, {4, 4, 4, 0, 0}},
      {4, 0, "MIG 7g.80gb", {0}, 8, 1, 79.25, 132, {8, 7, 7, 0, 1}}}},
    {"H200",
     "h200",
     {{0, 19, "MIG 1g.18gb", kSeven, 1, 7, 16.00, 16, {1, 1, 1, 0, 0}},
      {7, 20, "MIG 1g.18gb+me", kSeven, 1, 1, 16.00, 16, {1, 1, 1, 0, 1}},
      {9, 15, "MIG 1g.35gb", {0, 2, 4, 6}, 2, 4, 32.25, 26, {1, 1, 1, 0, 0}},
      {1, 14, "MIG 2g.35gb", {0, 2, 4}, 2, 3, 32.25, 32, {2, 2, 2, 0, 0}},
      {2, 9, "MIG 3g.71gb", {0, 4}, 4, 2, 69.50, 60, {3, 3, 3, 0, 0}},
      {3, 5, "MIG 4g.71gb", {0}, 4, 1, 69.50, 64, {4, 4, 4, 0, 0}},
      {4, 0, "MIG 7g.141gb", {0}, 8, 1, 140.00, 132, {8, 7, 7, 0, 1}}}},
    {"B200",
     "b200",
     {{0, 19, "MIG 1g.23gb", kSeven, 1, 7, 22.00, 18, {2, 1, 1, 0, 0}},
      {7, 20, "MIG 1g.23gb+me", kSeven, 1, 1, 22.00, 18, {2, 1, 1, 0, 1}},
      {9, 15, "MIG 1g.45gb", {0, 2, 4, 6}, 2, 4, 44.25, 30, {2, 1, 1, 0, 0}},
      {1, 14, "MIG 2g.45gb", {0, 2, 4}, 2, 3, 44.25, 36, {4, 2, 2, 0, 0}},
      {2, 9, "MIG 3g.90gb", {0, 4}, 4, 2, kUnlisted, kUnlisted, kUnlistedEngines},
      {3, 5, "MIG 4g.90gb", {0}, 4, 1, kUnlisted, kUnlisted, kUnlistedEngines},
      {4, 0, "MIG 7g.180gb", {0}, 8, 1, kUnlisted, kUnlisted, kUnlistedEngines}}},
    {"A30",
     "a30",
     {{0, 14, "MIG 1g.6gb", {0, 1, 2, 3}, 1, 4, 5.81, 14, {1, 1, 0, 0, 0}},
      {7, 21, "MIG 1g.6gb+me", {0, 1, 2, 3}, 1, 1, 5.81, 14, {1, 1, 1, 0, 1}},
      {1, 5, "MIG 2g.12gb", {0, 2}, 2, 2, 11.69, 28, {2, 2, 0, 0, 0}},
      {8, 6, "MIG 2g.12gb+me", {0, 2}, 2, 1, 11.69, 28, {2, 2, 1, 0, 1}},
      {3, 0, "MIG 4g.24gb", {0}, 4, 1, kUnlisted, 56, {4, 4, 1, 0, 1}}}},
    {"RtxPro6000",
     "rtx-pro-6000",
     {{0, 14, "MIG 1g.24gb", {0, 3, 6, 9}, 3, 4, 23.62, 46, {1, 1, 1, 1, 0}},
      {7, 21, "MIG 1g.24gb+me", {0, 3, 6, 9}, 3, 1, 23.62, 46, {1, 1, 1, 1, 1}},
      {0xa, 47, "MIG 1g.24gb+gfx", {0, 3, 6, 9}, 3, 4, 23.62, 46, {1, 1, 1, 1, 0}},
      {0xf, 65, "MIG 1g.24gb+me.all", {0, 3, 6, 9}, 3, 1, 23.62, 46, {1, 4, 4, 4, 1}},
      {0xd, 67, "MIG 1g.24gb-me", {0, 3, 6, 9}, 3, 4, 23.62, 46, {1, 0, 0, 0, 0}},
      {1, 5, "MIG 2g.48gb", {0, 6}, 6, 2, 47.38, 94, {2, 2, 2, 2, 0}},
      {0xb, 35, "MIG 2g.48gb+gfx", {0, 6}, 6, 2, 47.38, 94, {2, 2, 2, 2, 0}},
      {0x10, 64, "MIG 2g.48gb+me.all", {0, 6}, 6, 1, 47.38, 94, {2, 4, 4, 4, 1}},
      {0xe, 66, "MIG 2g.48gb-me", {0, 6}, 6, 2, 47.38, 94, {2, 0, 0, 0, 0}},
      {3, 0, "MIG 4g.96gb", {0}, 12, 1, 95.00, 188, {4, 4, 4, 4, 1}},
      {0xc, 32, "MIG 4g.96gb+gfx", {0}, 12, 1, 95.00, 188, {4, 4, 4, 4, 1}}}},
};

// Checks the members that all versions of the struct have.
template <class Info>
void expect_listed(const Info& info, const Listed& listed) {
  EXPECT_EQ(info.id, listed.id);
  EXPECT_EQ(info.sliceCount, static_cast<unsigned>(listed.name[4] - '0')) << "MIG <slices>g.<memory>gb";
  EXPECT_EQ(info.instanceCount, listed.instances);
  if (listed.gib != kUnlisted) {
    EXPECT_NEAR(static_cast<double>(info.memorySizeMB) / 1024, listed.gib, 0.00501);
  }
  if (listed.multiprocessors != kUnlisted) {
    EXPECT_EQ(info.multiprocessorCount, listed.multiprocessors);
  }
  if (listed.engines == kUnlistedEngines) return;
  EXPECT_EQ(info.copyEngineCount, listed.engines.copy);
  EXPECT_EQ(info.decoderCount, listed.engines.decoders);
  EXPECT_EQ(info.jpegCount, listed.engines.jpeg);
  EXPECT_EQ(info.encoderCount, listed.engines.encoders);
  EXPECT_EQ(info.ofaCount, listed.engines.ofa);
}

class FakeProfilesTest : public ::testing::TestWithParam<Card> {
 protected:
  LoadedFake fake{{.product = GetParam().product}};
  nvml::Device device = fake.device();
};

TEST_P(FakeProfilesTest, AreAtTheIndicesOfTheEnumeration) {
  std::vector<unsigned> expected, found;
  for (const Listed& listed : GetParam().profiles) expected.push_back(listed.index);
  for (unsigned index = 0; index < 0x11; ++index) {
    auto info = tagged<nvml::GpuInstanceProfileInfo3>(0x03000098);
    const nvml::Return code = fake.call.nvmlDeviceGetGpuInstanceProfileInfoV(device, index, &info);
    if (code == nvml::kSuccess)
      found.push_back(index);
    else
      EXPECT_EQ(code, 3) << "index " << index << " is not supported";
  }
  EXPECT_THAT(found, UnorderedElementsAreArray(expected));
}

TEST_P(FakeProfilesTest, HaveTheNumbersOfTheListing) {
  for (const Listed& listed : GetParam().profiles) {
    SCOPED_TRACE(listed.name);
    auto third = tagged<nvml::GpuInstanceProfileInfo3>(0x03000098);
    ASSERT_EQ(fake.call.nvmlDeviceGetGpuInstanceProfileInfoV(device, listed.index, &third), nvml::kSuccess);
    expect_listed(third, listed);
    EXPECT_EQ(third.name, listed.name);
    EXPECT_EQ(third.version, 0x03000098);
  }
}

TEST_P(FakeProfilesTest, AreTheSameInAllVersionsOfTheStruct) {
  for (const Listed& listed : GetParam().profiles) {
    SCOPED_TRACE(listed.name);
    auto second = tagged<nvml::GpuInstanceProfileInfo2>(0x02000098);
    ASSERT_EQ(fake.call.nvmlDeviceGetGpuInstanceProfileInfoV(device, listed.index, &second), nvml::kSuccess);
    expect_listed(second, listed);
    EXPECT_EQ(second.name, listed.name);
    nvml::GpuInstanceProfileInfo first{};
    ASSERT_EQ(fake.call.nvmlDeviceGetGpuInstanceProfileInfo(device, listed.index, &first), nvml::kSuccess);
    expect_listed(first, listed);
  }
}

TEST_P(FakeProfilesTest, HavePeerToPeerOrGraphicsAsListed) {
  for (const Listed& listed : GetParam().profiles) {
    SCOPED_TRACE(listed.name);
    auto second = tagged<nvml::GpuInstanceProfileInfo2>(0x02000098);
    ASSERT_EQ(fake.call.nvmlDeviceGetGpuInstanceProfileInfoV(device, listed.index, &second), nvml::kSuccess);
    EXPECT_EQ(second.isP2pSupported, 0u);
    auto third = tagged<nvml::GpuInstanceProfileInfo3>(0x03000098);
    ASSERT_EQ(fake.call.nvmlDeviceGetGpuInstanceProfileInfoV(device, listed.index, &third), nvml::kSuccess);
    EXPECT_EQ(third.capabilities, listed.name.ends_with("+gfx") ? 2u : 0u) << "1 is P2P, 2 is graphics";
  }
}

TEST_P(FakeProfilesTest, HaveThePlacementsOfTheListing) {
  for (const Listed& listed : GetParam().profiles) {
    SCOPED_TRACE(listed.name);
    unsigned count = 0;
    ASSERT_EQ(fake.call.nvmlDeviceGetGpuInstancePossiblePlacements_v2(device, listed.id, nullptr, &count),
              nvml::kSuccess);
    std::vector<nvml::Placement> placements(count);
    ASSERT_EQ(fake.call.nvmlDeviceGetGpuInstancePossiblePlacements_v2(device, listed.id, placements.data(), &count),
              nvml::kSuccess);
    std::vector<unsigned> starts;
    for (const nvml::Placement& placement : placements) {
      starts.push_back(placement.start);
      EXPECT_EQ(placement.size, listed.size);
    }
    EXPECT_THAT(starts, ElementsAreArray(listed.starts));
  }
}

// Creates one instance per placement, starting with the last placement.
TEST_P(FakeProfilesTest, AllowAsManyInstancesAsListed) {
  fake.enable_mig();
  device = fake.device();
  for (const Listed& listed : GetParam().profiles) {
    SCOPED_TRACE(listed.name);
    std::vector<nvml::GpuInstance> made;
    for (auto start = listed.starts.rbegin(); start != listed.starts.rend(); ++start) {
      nvml::GpuInstance instance = nullptr;
      const nvml::Return code = fake.create(device, listed.id, {*start, listed.size}, instance);
      if (code == nvml::kSuccess)
        made.push_back(instance);
      else
        EXPECT_EQ(code, 23) << "start " << *start << " lacks resources";
    }
    EXPECT_EQ(made.size(), listed.instances);
    for (const nvml::GpuInstance instance : made) EXPECT_EQ(fake.call.nvmlGpuInstanceDestroy(instance), nvml::kSuccess);
  }
}

INSTANTIATE_TEST_SUITE_P(Products, FakeProfilesTest, ::testing::ValuesIn(kCards), card_title);

// NVML_GPU_INSTANCE_PROFILE_COUNT grew with the driver, most recently by 3_SLICE_GFX.
TEST(FakeProfileLimitTest, GrowsWithTheDriver) {
  for (const auto& [driver, limit] : {std::pair{"580.65.06", 0x11u}, {"595.45.04", 0x12u}}) {
    SCOPED_TRACE(driver);
    const LoadedFake fake({.driver = driver});
    const nvml::Device device = fake.device();
    nvml::GpuInstanceProfileInfo info{};
    EXPECT_EQ(fake.call.nvmlDeviceGetGpuInstanceProfileInfo(device, limit - 1, &info), 3) << "not supported";
    EXPECT_EQ(fake.call.nvmlDeviceGetGpuInstanceProfileInfo(device, limit, &info), 2) << "invalid argument";
  }
}

TEST(FakeProfileLimitTest, CardsWithoutMigHaveNoProfiles) {
  for (const char* product : {"l40s", "t4"}) {
    SCOPED_TRACE(product);
    const LoadedFake fake({.product = product});
    unsigned current = 7, pending = 7;
    EXPECT_EQ(fake.call.nvmlDeviceGetMigMode(fake.device(), &current, &pending), 3) << "not supported";
    nvml::GpuInstanceProfileInfo info{};
    EXPECT_EQ(fake.call.nvmlDeviceGetGpuInstanceProfileInfo(fake.device(), 0, &info), 3);
  }
}

}  // namespace
}  // namespace cardcage
