#include "host/slices/slice_layout.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace cardcage {
namespace {

// Distributes devices and counters over slices.
class Packing {
 public:
  Packing(const PoolView& view, std::size_t slices) : view_(view), bins_(slices) {}

  // Leaves stored devices and counters in their slices.
  void keep(const SliceHomes& homes);
  // Finds room for new devices and counters.
  void add();
  std::vector<SliceBin> take();

 private:
  struct Bin : SliceBin {
    bool special = false;  // holds a special device
    bool changed = false;  // must be written in any case
  };

  std::size_t room(const Bin& bin, bool special) const {
    const std::size_t limit = special || bin.special ? kMaxSpecialSliceDevices : kMaxSliceDevices;
    return bin.counters.empty() && bin.devices.size() < limit ? limit - bin.devices.size() : 0;
  }
  static std::size_t counter_room(const Bin& bin) {
    return bin.devices.empty() ? kMaxSliceCounterSets - bin.counters.size() : 0;
  }
  template <class Room>
  Bin& best(Room room_of);
  void evict_overflow(Bin& bin);

  const PoolView& view_;
  std::vector<Bin> bins_;
  std::vector<std::size_t> new_devices_, new_counters_;
};

// Returns the bin with the most room: a changed one, else another one, else a new one.
template <class Room>
Packing::Bin& Packing::best(Room room_of) {
  Bin* found = nullptr;
  std::size_t found_room = 0;
  for (Bin& bin : bins_) {
    const std::size_t room = room_of(bin);
    if (room == 0) continue;
    if (found == nullptr || std::pair(bin.changed, room) > std::pair(found->changed, found_room)) {
      found = &bin;
      found_room = room;
    }
  }
  if (found == nullptr) found = &bins_.emplace_back();
  found->changed = true;
  return *found;
}

void Packing::keep(const SliceHomes& homes) {
  for (std::size_t i = 0; i < view_.counters.size(); ++i) {
    const auto home = bins_.empty() ? std::nullopt : homes.counters[i];
    (home && counter_room(bins_[*home]) > 0 ? bins_[*home].counters : new_counters_).push_back(i);
  }
  for (std::size_t i = 0; i < view_.devices.size(); ++i) {
    const SliceHomes::Home home = bins_.empty() ? SliceHomes::Home{} : homes.devices[i];
    if (home.device == nullptr || !bins_[home.slice].counters.empty()) {
      new_devices_.push_back(i);
      continue;
    }
    Bin& bin = bins_[home.slice];
    bin.devices.push_back(i);
    bin.special = bin.special || view_.special[i];
    bin.changed = bin.changed || !home.same;
  }
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    const Slice* const stored = homes.slices[i];
    Bin& bin = bins_[i];
    bin.changed = bin.changed || stored == nullptr || stored->devices.size() != bin.devices.size() ||
                  stored->shared_counters.size() != bin.counters.size();
    evict_overflow(bin);
  }
  std::ranges::sort(new_devices_);
}

void Packing::evict_overflow(Bin& bin) {
  const std::size_t limit = bin.special ? kMaxSpecialSliceDevices : kMaxSliceDevices;
  if (bin.devices.size() <= limit) return;
  new_devices_.insert(new_devices_.end(), bin.devices.begin() + static_cast<std::ptrdiff_t>(limit), bin.devices.end());
  bin.devices.resize(limit);
  bin.changed = true;
}

void Packing::add() {
  for (const std::size_t i : new_counters_)
    best([](const Bin& bin) { return counter_room(bin); }).counters.push_back(i);
  for (const std::size_t i : new_devices_) {
    const bool special = view_.special[i];
    Bin& bin = best([&](const Bin& candidate) { return room(candidate, special); });
    bin.devices.push_back(i);
    bin.special = bin.special || special;
  }
}

std::vector<SliceBin> Packing::take() {
  for (Bin& bin : bins_) {
    std::ranges::sort(bin.devices);
    std::ranges::sort(bin.counters);
  }
  std::vector<SliceBin> result(bins_.begin(), bins_.end());
  if (result.empty()) result.emplace_back();  // an empty slice shows that the driver runs and has no devices
  return result;
}

std::vector<SliceBin> pack(const PoolView& view, const SliceHomes& homes) {
  Packing packing(view, homes.slices.size());
  packing.keep(homes);
  packing.add();
  return packing.take();
}

// For Kubernetes 1.34: each group of counter sets and consumers gets a slice of its own, after the other devices.
std::vector<SliceBin> lay_out_combined(const PoolView& view) {
  std::vector<SliceBin> groups = group_by_counters(view);
  std::vector<std::size_t> plain;
  PoolView plain_view;
  for (std::size_t i = 0; i < view.devices.size(); ++i) {
    if (!view.devices[i]->consumes.empty()) continue;
    plain.push_back(i);
    plain_view.devices.push_back(view.devices[i]);
    plain_view.special.push_back(view.special[i]);
  }
  std::vector<SliceBin> bins;
  if (!plain.empty() || groups.empty()) bins = pack(plain_view, {});
  for (SliceBin& bin : bins)
    for (std::size_t& device : bin.devices) device = plain[device];
  std::ranges::move(groups, std::back_inserter(bins));
  return bins;
}

}  // namespace

SliceHomes SliceHomes::find(const PoolView& view, std::vector<const Slice*> slices) {
  std::vector<std::size_t> newest_first(slices.size());
  std::iota(newest_first.begin(), newest_first.end(), std::size_t{0});
  std::erase_if(newest_first, [&](std::size_t i) { return slices[i] == nullptr; });
  std::ranges::sort(newest_first, [&](std::size_t a, std::size_t b) {
    return std::pair(slices[b]->pool.generation, a) < std::pair(slices[a]->pool.generation, b);
  });
  std::unordered_map<std::string_view, Home> device_homes;
  std::unordered_map<std::string_view, std::size_t> counter_homes;
  device_homes.reserve(view.devices.size());
  for (const std::size_t i : newest_first) {
    for (const SliceDevice& device : slices[i]->devices) device_homes.try_emplace(device.name, i, &device);
    for (const auto& [name, counters] : slices[i]->shared_counters) counter_homes.try_emplace(name, i);
  }
  SliceHomes homes;
  homes.slices = std::move(slices);
  homes.devices.resize(view.devices.size());
  homes.counters.resize(view.counters.size());
  for (std::size_t i = 0; i < view.devices.size(); ++i) {
    const auto home = device_homes.find(view.devices[i]->name);
    if (home == device_homes.end()) continue;
    homes.devices[i] = home->second;
    homes.devices[i].same = is_same(*view.devices[i], *home->second.device);
  }
  for (std::size_t i = 0; i < view.counters.size(); ++i)
    if (const auto home = counter_homes.find(view.counters[i]->first); home != counter_homes.end())
      homes.counters[i] = home->second;
  return homes;
}

std::vector<SliceBin> lay_out(const PoolView& view, const SliceHomes& homes) {
  if (view.placement == CounterPlacement::kCombined) return lay_out_combined(view);
  const auto quotient = [](std::size_t count, std::size_t limit) { return (count + limit - 1) / limit; };
  const std::size_t at_least =
      std::max(quotient(view.devices.size(), kMaxSliceDevices) + quotient(view.counters.size(), kMaxSliceCounterSets),
               std::size_t{1});
  std::vector<SliceBin> kept = pack(view, homes);
  if (kept.size() <= 2 * at_least) return kept;
  // Compares with the new layout, not with the old pool: the next plan must find nothing to do.
  std::vector<SliceBin> fresh = pack(view, {});
  return kept.size() > 2 * fresh.size() ? std::move(fresh) : std::move(kept);
}

std::vector<SliceBin> group_by_counters(const PoolView& view) {
  std::unordered_map<std::string_view, std::size_t> number_of;
  for (const CounterSet* set : view.counters) number_of.emplace(set->first, number_of.size());
  // Union-find: the root of a group is its set with the lowest number.
  std::vector<std::size_t> parent(number_of.size());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root = [&](const CounterUse& use) {
    std::size_t i = number_of.at(use.set);
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (const SliceDevice* device : view.devices)
    for (const CounterUse& use : device->consumes) {
      const auto [low, high] = std::minmax({root(device->consumes[0]), root(use)});
      parent[high] = low;
    }
  std::vector<SliceBin> groups(number_of.size());
  for (std::size_t i = 0; i < view.counters.size(); ++i)
    groups[root({view.counters[i]->first, {}})].counters.push_back(i);
  for (std::size_t i = 0; i < view.devices.size(); ++i)
    if (!view.devices[i]->consumes.empty()) groups[root(view.devices[i]->consumes[0])].devices.push_back(i);
  std::erase_if(groups, [](const SliceBin& group) { return group.counters.empty(); });
  return groups;
}

bool is_same(const SliceDevice& wanted, const SliceDevice& stored) {
  const auto same_taint = [](const DeviceTaint& a, const DeviceTaint& b) {
    return a.key == b.key && a.value == b.value && a.effect == b.effect;
  };
  const DeviceTraits &wanted_traits = wanted, &stored_traits = stored;
  return wanted.name == stored.name && wanted_traits == stored_traits &&
         std::ranges::equal(wanted.taints, stored.taints, same_taint);
}

}  // namespace cardcage
