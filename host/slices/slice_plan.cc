#include "host/slices/slice_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "host/core/number.h"
#include "host/slices/slice_layout.h"

namespace cardcage {
namespace {

constexpr std::int64_t kLastGeneration = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kIndexDigits = 5;
constexpr std::size_t kMaxNameBase = 58;

class Planner {
 public:
  Planner(const SliceOwner& owner, const std::string& pool, const PoolView& view)
      : owner_(owner), pool_(pool), view_(view) {}

  SlicePlan plan(std::span<const Slice* const> stored);

 private:
  enum class State { kSame, kSameButOwner, kChanged, kMissing };

  std::vector<const Slice*> find_slices(std::span<const Slice* const> stored);
  void settle_generation(std::span<const Slice* const> stored);
  State state_of(std::size_t index) const;
  Slice slice(std::size_t index) const;
  SliceDevice device(std::size_t index) const;
  const Slice* stored_at(std::size_t index) const {
    return index < homes_.slices.size() ? homes_.slices[index] : nullptr;
  }

  const SliceOwner& owner_;
  const std::string& pool_;
  const PoolView& view_;
  SliceHomes homes_;
  std::vector<SliceBin> bins_;
  SlicePlan plan_;
};

SlicePlan Planner::plan(std::span<const Slice* const> stored) {
  homes_ = SliceHomes::find(view_, find_slices(stored));
  bins_ = lay_out(view_, homes_);
  plan_.slices = bins_.size();
  for (std::size_t i = bins_.size(); i < homes_.slices.size(); ++i)
    if (homes_.slices[i] != nullptr) plan_.deletes.push_back(*homes_.slices[i]);
  settle_generation(stored);
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    if (state_of(i) == State::kSame) continue;
    (stored_at(i) != nullptr ? plan_.updates : plan_.creates).push_back(slice(i));
  }
  return std::move(plan_);
}

// Returns the stored slices by index. Plans to delete slices without an index and slices whose index a newer slice has.
std::vector<const Slice*> Planner::find_slices(std::span<const Slice* const> stored) {
  // Bounds the memory that a foreign slice with a huge index can make us allocate.
  const std::size_t limit = 2 * (view_.devices.size() + view_.counters.size() + stored.size());
  std::vector<std::pair<std::size_t, const Slice*>> indexed;
  for (const Slice* slice : stored) {
    const auto index = slice_index(slice->name);
    if (index && *index < limit && static_cast<std::int64_t>(*index) < slice->pool.slice_count)
      indexed.emplace_back(*index, slice);
    else
      plan_.deletes.push_back(*slice);
  }
  std::ranges::sort(indexed, [](const auto& a, const auto& b) {
    if (a.second->pool.generation != b.second->pool.generation)
      return a.second->pool.generation > b.second->pool.generation;
    return a.second->name < b.second->name;
  });
  std::vector<const Slice*> slices;
  for (const auto& [index, slice] : indexed) {
    if (index >= slices.size()) slices.resize(index + 1);
    if (slices[index] == nullptr)
      slices[index] = slice;
    else
      plan_.deletes.push_back(*slice);
  }
  return slices;
}

void Planner::settle_generation(std::span<const Slice* const> stored) {
  plan_.generation = 1;
  for (const Slice* slice : stored) plan_.generation = std::max(plan_.generation, slice->pool.generation);
  std::size_t changed = 0, missing = 0;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    changed += state_of(i) == State::kChanged ? 1 : 0;
    missing += state_of(i) == State::kMissing ? 1 : 0;
  }
  if (changed == 0 || (changed == 1 && missing == 0)) return;
  if (plan_.generation < kLastGeneration) {
    ++plan_.generation;
    return;
  }
  // The last possible generation is used: delete everything and start over.
  plan_.deletes.clear();
  for (const Slice* slice : stored) plan_.deletes.push_back(*slice);
  homes_.slices.clear();
  plan_.generation = 1;
}

// Compares the stored slice with the wanted one, under the generation chosen so far. A slice of an older generation
// counts as missing, since consumers ignore it.
Planner::State Planner::state_of(std::size_t index) const {
  const Slice* const stored = stored_at(index);
  if (stored == nullptr || stored->pool.generation < plan_.generation) return State::kMissing;
  const SliceBin& bin = bins_[index];
  const bool same = stored->pool.slice_count == static_cast<std::int64_t>(bins_.size()) &&
                    std::ranges::equal(bin.devices, stored->devices,
                                       [&](std::size_t wanted, const SliceDevice& other) {
                                         const SliceHomes::Home& home = homes_.devices[wanted];
                                         return home.same && home.device == &other;
                                       }) &&
                    std::ranges::equal(bin.counters, stored->shared_counters,
                                       [&](std::size_t wanted, const CounterSet& other) {
                                         return *view_.counters[wanted] == other;
                                       }) &&
                    stored->skip_node_operations == view_.skip_node_operations;
  if (!same) return State::kChanged;
  return stored->owner_node_uid == owner_.node_uid ? State::kSame : State::kSameButOwner;
}

Slice Planner::slice(std::size_t index) const {
  Slice slice;
  if (const Slice* const stored = stored_at(index)) {
    slice.name = stored->name;
    slice.uid = stored->uid;
    slice.resource_version = stored->resource_version;
  }
  slice.generate_name = slice_name_base(index, owner_.driver, owner_.node_name);
  slice.owner_node_uid = owner_.node_uid;
  slice.driver = owner_.driver;
  slice.node_name = owner_.node_name;
  slice.pool = {pool_, plan_.generation, static_cast<std::int64_t>(bins_.size())};
  const SliceBin& bin = bins_[index];
  slice.devices.reserve(bin.devices.size());
  for (const std::size_t i : bin.devices) slice.devices.push_back(device(i));
  for (const std::size_t i : bin.counters) slice.shared_counters.insert(*view_.counters[i]);
  slice.skip_node_operations = view_.skip_node_operations;
  return slice;
}

// A taint keeps the time at which it was added, even if its device moves to another slice.
SliceDevice Planner::device(std::size_t index) const {
  SliceDevice device = *view_.devices[index];
  const SliceDevice* const stored = homes_.devices[index].device;
  for (DeviceTaint& taint : device.taints) {
    taint.time_added.clear();
    if (stored == nullptr) continue;
    for (const DeviceTaint& old : stored->taints)
      if (old.key == taint.key && old.value == taint.value && old.effect == taint.effect)
        taint.time_added = old.time_added;
  }
  return device;
}

}  // namespace

SlicePlan plan_slices(const SliceOwner& owner, const std::string& pool, const PoolView& view,
                      std::span<const Slice* const> stored) {
  return Planner(owner, pool, view).plan(stored);
}

std::string slice_name_base(std::size_t index, const std::string& driver, const std::string& node_name) {
  std::string base = fmt::format("{:05x}-{}-{}", index, driver, node_name).substr(0, kMaxNameBase - 1);
  while (base.back() == '.' || base.back() == '-') base.pop_back();  // a name must not begin with "a.-"
  return base + '-';
}

std::optional<std::size_t> slice_index(const std::string& name) {
  const std::size_t size = name.find('-');
  if (size == std::string::npos || size < kIndexDigits || (size > kIndexDigits && name[0] == '0')) return std::nullopt;
  return number_from<std::size_t>(name.substr(0, size), 16);
}

bool is_same_content(const Slice& sent, const Slice& stored) {
  return std::ranges::equal(sent.devices, stored.devices, is_same) && sent.shared_counters == stored.shared_counters &&
         sent.skip_node_operations == stored.skip_node_operations;
}

}  // namespace cardcage
