#include "tests/bench/nic_figures.h"

#include <fmt/format.h>

#include "tests/bench/loaded_module.h"
#include "tests/nic/nic_tree.h"

namespace cardcage::bench {
namespace {

constexpr int kCards = 4, kVirtual = 64;

// On plain files, which the kernel reads as fast as those of sysfs.
Figures discoveries(int rounds) {
  NicTree tree;
  for (int card = 0; card < kCards; ++card) {
    const std::string physical = fmt::format("0000:{:02x}:00.0", 0x10 + card);
    tree.card(physical);
    tree.netdev(fmt::format("ens{}", card), physical);
    tree.attribute(physical, "sriov_numvfs", fmt::format("{}\n", kVirtual));
    for (unsigned i = 0; i < kVirtual; ++i) {
      const std::string function = fmt::format("0000:{:02x}:{:02x}.{}", 0x10 + card, 0x10 + i / 8, i % 8);
      tree.card(function, "igbvf");
      tree.netdev(fmt::format("ens{}v{}", card, i), function);
      tree.virtual_function(physical, i, function);
      tree.iommu_group(function, std::to_string(100 * card + static_cast<int>(i)));
    }
  }
  LoadedModule loaded("nic", Isolation::kProcess, CARDCAGE_NIC,
                      {.sysfs = tree.sysfs(), .procfs = "/proc", .devfs = tree.devfs(), .driver = "/"});
  loaded.start();
  if (loaded.snapshot->devices.size() != kCards * kVirtual) throw std::runtime_error("not all functions were found");
  Figures figures;
  for (int i = 0; i < rounds; ++i)
    figures.time([&] { LoadedModule::must(loaded.run(loaded.module->discover(loaded.soon()))); });
  return figures;
}

}  // namespace

void measure_nic(Table& table, bool quick) {
  const Figures discover = discoveries(quick ? 10 : 50);
  table.figure("discover of 4 cards with 64 virtual functions each", discover);
  table.budget("discover of 4 cards with 64 virtual functions each, p50", discover.p50_us() / 1000, 30, "ms");
}

}  // namespace cardcage::bench
