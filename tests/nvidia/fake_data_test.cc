// The data of the fake cards where listings of real ones (`nvidia-smi -q -x` of tests/e2e/go/assertions/nvidiasmi in
// NVIDIA/k8s-test-infra, qx-a100.xml to qx-t4.xml) differ from or add to a data sheet.
#include <gmock/gmock.h>

#include "tests/nvidia/loaded_fake.h"

namespace cardcage {
namespace {

struct Listing {
  std::string product;
  unsigned brand;                                                 // product_brand "NVIDIA" is nvml::Brand 14
  unsigned reserved_mib;                                          // fb_memory_usage
  std::optional<unsigned> module_id = {};                         // platformInfo
  std::optional<unsigned> generation = {}, addressing_mode = {};  // max_device_link_gen; "None" is 0
};

const Listing kListings[] = {
    {.product = "t4", .brand = 14, .reserved_mib = 448},
    {.product = "a100", .brand = 14, .reserved_mib = 518, .module_id = 7},
    {.product = "l40s", .brand = 14, .reserved_mib = 609},
    {.product = "b200", .brand = 14, .reserved_mib = 728, .module_id = 6, .generation = 5, .addressing_mode = 0},
};

TEST(FakeData, IsWhatListingsOfCardsTell) {
  for (const Listing& listing : kListings) {
    SCOPED_TRACE(listing.product);
    const LoadedFake fake({.product = listing.product});
    const nvml::Device device = fake.device();
    unsigned brand = 0, value = 99;
    EXPECT_EQ(fake.call.nvmlDeviceGetBrand(device, &brand), nvml::kSuccess);
    EXPECT_EQ(brand, listing.brand);
    auto memory = tagged<nvml::Memory2>(0x02000028);
    EXPECT_EQ(fake.call.nvmlDeviceGetMemoryInfo_v2(device, &memory), nvml::kSuccess);
    EXPECT_EQ(memory.reserved >> 20, listing.reserved_mib);
    if (listing.module_id) {
      EXPECT_EQ(fake.call.nvmlDeviceGetModuleId(device, &value), nvml::kSuccess);
      EXPECT_EQ(value, *listing.module_id);
    }
    if (listing.generation) {
      EXPECT_EQ(fake.call.nvmlDeviceGetMaxPcieLinkGeneration(device, &value), nvml::kSuccess);
      EXPECT_EQ(value, *listing.generation);
    }
    if (listing.addressing_mode) {
      auto mode = tagged<nvml::DeviceAddressingMode>(0x01000008);
      EXPECT_EQ(fake.call.nvmlDeviceGetAddressingMode(device, &mode), nvml::kSuccess);
      EXPECT_EQ(mode.value, *listing.addressing_mode);
    }
  }
}

// The records of processes with the numbers of instances; drivers 535 to 535.86 write longer ones.
TEST(FakeData, ListsProcessesByInstanceSinceDriver525) {
  const char* const kFunctions[] = {"nvmlDeviceGetComputeRunningProcesses_v3",
                                    "nvmlDeviceGetGraphicsRunningProcesses_v3",
                                    "nvmlDeviceGetMPSComputeRunningProcesses_v3"};
  for (const auto& [driver, has] : {std::pair("470.256.02", false), {"525.147.05", true}, {"535.161.08", true}}) {
    const LoadedFake fake({.product = "h100", .driver = driver});
    for (const char* function : kFunctions) EXPECT_EQ(fake.exports(function), has) << driver << " " << function;
  }
}

}  // namespace
}  // namespace cardcage
