#include "host/conformance/device_changes.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace cardcage {
namespace {

// The first part that differs; empty if none does.
std::string changed_part(const Device& before, const Device& after) {
  if (before.name != after.name) return "another name";
  if (before.kind != after.kind) return "another kind";
  if (before.parent_id != after.parent_id) return "another parent";
  if (before.pci_bus_id != after.pci_bus_id) return "another PCI address";
  if (before.numa_nodes != after.numa_nodes) return "other NUMA nodes";
  std::string part;
  const auto compare = [&](std::string_view name, const auto& first, const auto& second) {
    if (part.empty() && !(first == second)) part = fmt::format("other {}", name);
  };
  describe(compare, before, after);
  return part;
}

}  // namespace

std::string device_changes(const Snapshot& before, const Snapshot& after) {
  std::vector<std::string> changes;
  for (const Device& device : before.devices) {
    const Device* const now = after.find(device.id);
    const std::string part = now ? changed_part(device, *now) : "";
    if (!now)
      changes.push_back(fmt::format("device '{}' is missing", device.id));
    else if (!part.empty())
      changes.push_back(fmt::format("device '{}' has {}", device.id, part));
  }
  for (const Device& device : after.devices)
    if (!before.find(device.id)) changes.push_back(fmt::format("device '{}' is new", device.id));
  if (before.counter_sets != after.counter_sets) changes.emplace_back("counter sets differ");
  constexpr std::size_t kMost = 3;
  if (changes.size() <= kMost) return fmt::format("{}", fmt::join(changes, ", "));
  const std::size_t more = changes.size() - kMost;
  changes.resize(kMost);
  return fmt::format("{} and {} more", fmt::join(changes, ", "), more);
}

}  // namespace cardcage
