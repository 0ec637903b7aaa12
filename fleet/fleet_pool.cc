#include "fleet/fleet_pool.h"

#include <algorithm>
#include <tuple>

#include "fleet/natural_order.h"

namespace cardcage {
namespace {

bool device_less(const FleetPool::Device& a, const FleetPool::Device& b) {
  const FleetDevice &left = a.about(), &right = b.about();
  if (left.node != right.node) return natural_less(left.node.get(), right.node.get());
  return natural_less(left.name.get(), right.name.get());
}

DeviceState state_of(const std::vector<FleetPool::Taint>& taints, bool held) {
  bool cordoned = false;
  for (const auto& [taint, rule] : taints) {
    if (taint->effect == FleetEffect::kNone) continue;
    if (!taint->is_cordon()) return DeviceState::kUnhealthy;
    cordoned = true;
  }
  if (cordoned) return DeviceState::kCordoned;
  return held ? DeviceState::kHeld : DeviceState::kFree;
}

}  // namespace

bool FleetPool::put(std::shared_ptr<const FleetSlice> slice) {
  const auto same = std::ranges::find(slices_, slice->name, [](const auto& other) { return other->name; });
  if (same != slices_.end())
    *same = std::move(slice);
  else
    slices_.push_back(std::move(slice));
  return show_newest_generation();
}

bool FleetPool::remove(const Name& slice) {
  if (std::erase_if(slices_, [&](const auto& other) { return other->name == slice; }) == 0) return false;
  return show_newest_generation();
}

bool FleetPool::show_newest_generation() {
  if (slices_.empty()) {
    incomplete_ = false;
    devices_.clear();
    return true;
  }
  const auto newest = std::ranges::max_element(slices_, {}, [](const auto& slice) { return slice->generation; });
  const std::int64_t generation = (*newest)->generation, expected = (*newest)->slice_count;
  incomplete_ =
      std::ranges::count(slices_, generation, [](const auto& slice) { return slice->generation; }) != expected;
  if (incomplete_) return false;
  std::vector<Device> devices;
  for (const auto& slice : slices_) {
    if (slice->generation != generation) continue;
    for (std::uint32_t i = 0; i < slice->devices.size(); ++i) devices.push_back({.slice = slice, .index = i});
  }
  std::ranges::sort(devices, device_less);
  devices.shrink_to_fit();
  devices_ = std::move(devices);
  return true;
}

void FleetPool::hold(const Name& device, const FleetClaim& claim, bool admin) {
  const auto place = std::ranges::upper_bound(holders_, device, ByAddress(), &Hold::device);
  holders_.insert(place, Hold{device, {&claim, admin}});
}

void FleetPool::release(const FleetClaim& claim) {
  std::erase_if(holders_, [&](const Hold& hold) { return hold.holder.claim == &claim; });
}

std::span<const FleetPool::Hold> FleetPool::holds_of(const Name& device) const {
  const auto found = std::ranges::equal_range(holders_, device, ByAddress(), &Hold::device);
  return {found.begin(), found.end()};
}

void FleetPool::update_states(const Rules& rules) {
  rules_.clear();
  for (const auto& [name, rule] : rules)
    if (rule.matches(driver_, name_)) rules_.push_back(&rule);
  for (Device& device : devices_) {
    device.held =
        std::ranges::any_of(holds_of(device.about().name), [](const Hold& hold) { return !hold.holder.admin; });
    device.state = state_of(taints(device), device.held);
  }
}

std::vector<FleetPool::Taint> FleetPool::taints(const Device& device) const {
  std::vector<Taint> taints;
  const auto own = std::ranges::equal_range(device.slice->taints, device.index, {}, &FleetSlice::Tainted::device);
  for (const FleetSlice::Tainted& tainted : own) taints.push_back({&tainted.taint, nullptr});
  for (const FleetTaintRule* const rule : rules_)
    if (rule->matches(device.about().name)) taints.push_back({&rule->taint, rule});
  return taints;
}

std::vector<FleetPool::Holder> FleetPool::holders(const Device& device) const {
  std::vector<Holder> holders;
  for (const Hold& hold : holds_of(device.about().name)) holders.push_back(hold.holder);
  return holders;
}

}  // namespace cardcage
