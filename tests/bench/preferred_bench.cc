// The time that the core needs for GetPreferredAllocation: devices on 2 sockets with 4 PCIe roots each, 4 partitions
// per card, a third of them already allocated.
#include <benchmark/benchmark.h>

#include "host/serving/preferred.h"

namespace cardcage {
namespace {

std::vector<Candidate> machine(std::int64_t devices, std::int64_t replicas) {
  std::vector<Candidate> all;
  for (std::int64_t device = 0; device < devices; ++device)
    for (std::int64_t replica = 0; replica < replicas; ++replica) {
      if (replicas == 1 ? device % 3 == 0 : replica < device % 3) continue;
      all.push_back({.id = replicas == 1 ? fmt::format("gpu-{}", device) : fmt::format("gpu-{}::{}", device, replica),
                     .device = fmt::format("gpu-{}", device),
                     .numa_nodes = {static_cast<std::int32_t>(device % 2)},
                     .pcie_root = fmt::format("pci0000:{}0", device % 8),
                     .parent = fmt::format("card-{}", device / 32 * 8 + device % 8),
                     .in_use = replicas == 1 ? 0 : static_cast<std::uint32_t>(device % 3)});
    }
  return all;
}

// Arguments: devices, replicas per device, wanted devices, 0 = packed or 1 = spread.
void BM_PreferredIds(benchmark::State& state) {
  const auto all = machine(state.range(0), state.range(1));
  const auto placement = state.range(3) == 0 ? Placement::kPacked : Placement::kSpread;
  const std::vector<std::string> required = {all.front().id};
  for (auto _ : state)
    benchmark::DoNotOptimize(preferred_ids(all, required, static_cast<std::size_t>(state.range(2)), placement));
}
BENCHMARK(BM_PreferredIds)
    ->ArgNames({"devices", "replicas", "wanted", "spread"})
    ->ArgsProduct({{64}, {1, 8}, {16}, {0, 1}})
    ->ArgsProduct({{10'000}, {1}, {8, 100, 5'000}, {0, 1}})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace cardcage
