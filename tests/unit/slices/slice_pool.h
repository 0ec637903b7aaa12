// Makes pools for tests, and shows them as consumers of the cluster see them.
#pragma once

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/slices/slice_plan.h"

namespace cardcage {

inline SliceDevice plain_device(const std::string& name, std::int64_t model = 1) {
  SliceDevice device;
  device.name = name;
  device.attributes["model"] = model;
  device.capacity["memory"] = Quantity{.value = 32LL << 30, .format = Quantity::Format::kBinary};
  return device;
}

inline SliceDevice tainted_device(const std::string& name, const std::string& effect = "NoSchedule") {
  SliceDevice device = plain_device(name);
  device.taints.push_back({"example.com/unhealthy", "Xid", effect, ""});
  return device;
}

inline SliceDevice shared_device(const std::string& name) {
  const auto gi = [](std::int64_t count) {
    return Quantity{.value = count << 30, .format = Quantity::Format::kBinary};
  };
  SliceDevice device = plain_device(name);
  device.shared = true;
  device.policies["memory"] = {.default_amount = gi(4), .min = gi(4), .max = gi(16), .step = gi(4)};
  return device;
}

inline SliceDevice bound_device(const std::string& name) {
  SliceDevice device = plain_device(name);
  device.binding = {{"Ready"}, {"Failed"}};
  return device;
}

inline SliceDevice partition(const std::string& name, const std::string& set) {
  SliceDevice device = plain_device(name);
  device.consumes.push_back({set, {{"slots", Quantity{.value = 1}}}});
  return device;
}

inline std::map<std::string, Quantity> slots(std::int64_t count) { return {{"slots", Quantity{.value = count}}}; }

inline std::string numbered(std::size_t number) { return fmt::format("dev-{:05}", number); }

inline PoolContent numbered_pool(std::size_t count) {
  PoolContent content;
  for (std::size_t i = 0; i < count; ++i) content.devices.push_back(plain_device(numbered(i)));
  return content;
}

inline PoolContentPtr shared(PoolContent content) { return std::make_shared<const PoolContent>(std::move(content)); }

// One pool as the scheduler sees it. It uses the pool only if its newest generation is complete and valid.
struct ConsumerView {
  bool complete = false;
  std::set<std::string> devices;
  std::string flaw;  // why the pool is invalid
};

template <class Slices>
ConsumerView consumer_view(const Slices& slices) {
  ConsumerView view;
  std::int64_t generation = -1;
  for (const Slice& slice : slices) generation = std::max(generation, slice.pool.generation);
  std::int64_t count = 0, wanted = 0;
  std::set<std::string> sets, uses;
  for (const Slice& slice : slices) {
    if (slice.pool.generation != generation) continue;
    ++count;
    if (wanted != 0 && wanted != slice.pool.slice_count) view.flaw = "slice counts differ";
    wanted = slice.pool.slice_count;
    for (const auto& [name, counters] : slice.shared_counters)
      if (!sets.insert(name).second) view.flaw = "counter set twice: " + name;
    for (const SliceDevice& device : slice.devices) {
      if (!view.devices.insert(device.name).second) view.flaw = "device twice: " + device.name;
      for (const CounterUse& use : device.consumes) uses.insert(use.set);
    }
  }
  view.complete = count == wanted;
  for (const std::string& use : uses)
    if (!sets.contains(use)) view.flaw = "no counter set " + use;
  return view;
}

// Returns the rule of the API that the slice breaks, if any.
inline std::optional<std::string> slice_flaw(const Slice& slice, CounterPlacement placement) {
  bool special = false;
  for (const SliceDevice& device : slice.devices) special = special || is_special(device);
  if (slice.devices.size() > (special ? 64u : 128u)) return fmt::format("{} devices", slice.devices.size());
  if (slice.shared_counters.size() > 8) return "too many counter sets";
  if (placement == CounterPlacement::kSeparate && !slice.devices.empty() && !slice.shared_counters.empty())
    return "devices and counters in one slice";
  if (slice.pool.slice_count < 1) return "no slice count";
  return std::nullopt;
}

}  // namespace cardcage
