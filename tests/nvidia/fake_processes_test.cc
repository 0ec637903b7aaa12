// The fake writes lists of processes as each driver does. Drivers 535.43.02 to 535.86.10 write records of 32 bytes in
// the _v3 functions, all others 24, and the _v2 functions of all drivers write 24.
//
// Source: https://github.com/NVIDIA/go-nvml/issues/75, https://github.com/XuehaiPan/nvitop/issues/79.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tests/nvidia/loaded_fake.h"

namespace cardcage {
namespace {

using List = nvml::Return (*)(nvml::Device, unsigned*, nvml::ProcessInfo*);

constexpr unsigned char kUnwritten = 0xa5;

class FakeProcessesTest : public ::testing::Test {
 protected:
  // The number of bytes that the function writes for two processes; their pids are at the given distance.
  static std::size_t written_by(const LoadedFake& fake, List list, std::size_t distance) {
    std::array<unsigned char, 256> bytes;
    bytes.fill(kUnwritten);
    unsigned count = 4;
    EXPECT_EQ(list(fake.device(), &count, reinterpret_cast<nvml::ProcessInfo*>(bytes.data())), nvml::kSuccess);
    EXPECT_EQ(count, 2u);
    unsigned second = 0;
    std::memcpy(&second, bytes.data() + distance, sizeof second);
    EXPECT_EQ(second, 4712u);
    const auto last = std::find_if(bytes.rbegin(), bytes.rend(), [](unsigned char one) { return one != kUnwritten; });
    return static_cast<std::size_t>(bytes.rend() - last);
  }
};

TEST_F(FakeProcessesTest, RecordsHaveTheSizeOfTheirDriver) {
  for (const auto& [driver, size] : {std::pair{"535.43.02", 32u},
                                     {"535.54.03", 32u},
                                     {"535.86.10", 32u},
                                     {"535.98", 24u},
                                     {"535.161.08", 24u},
                                     {"550.54.15", 24u},
                                     {"580.65.06", 24u}}) {
    SCOPED_TRACE(driver);
    LoadedFake fake({.product = "h100", .driver = driver});
    for (const auto kind : {fake_nvml::Process::kCompute, fake_nvml::Process::kGraphics, fake_nvml::Process::kMps})
      for (const unsigned pid : {4711u, 4712u})
        fake.gpus.add_process(0, pid, 1 << 20, nvml::kNoInstance, nvml::kNoInstance, kind);
    for (const List third :
         {fake.call.nvmlDeviceGetComputeRunningProcesses_v3, fake.call.nvmlDeviceGetGraphicsRunningProcesses_v3,
          fake.call.nvmlDeviceGetMPSComputeRunningProcesses_v3})
      EXPECT_EQ(written_by(fake, third, size), 2 * size);
    for (const List second :
         {fake.call.nvmlDeviceGetComputeRunningProcesses_v2, fake.call.nvmlDeviceGetGraphicsRunningProcesses_v2})
      EXPECT_EQ(written_by(fake, second, 24), 48u);
  }
}

}  // namespace
}  // namespace cardcage
