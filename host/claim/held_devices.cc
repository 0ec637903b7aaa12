#include "host/claim/held_devices.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace cardcage {
namespace {

// Amounts of counters are far below 2^64, so that sums are exact but for decimal fractions.
long double amount_of(const Quantity& quantity) {
  return static_cast<long double>(quantity.value) * std::pow(10.0L, static_cast<long double>(quantity.exp10));
}
constexpr long double kRounding = 1 + 1e-12L;

long double use_of(const Device& device, const std::string& set, const std::string& counter) {
  for (const CounterUse& use : device.consumes)
    if (const auto amount = use.counters.find(counter); use.set == set && amount != use.counters.end())
      return amount_of(amount->second);
  return 0;
}

}  // namespace

HeldDevices::HeldDevices(std::string module, SnapshotPtr snapshot, const Ledger& ledger)
    : module_(std::move(module)), snapshot_(std::move(snapshot)), ledger_(ledger) {
  if (!snapshot_) return;
  for (const Device& device : snapshot_->devices)
    if (!device.parent_id.empty()) wholes_.insert(device.parent_id);
}

const std::vector<HeldDevices::Held>& HeldDevices::held() const {
  if (held_) return *held_;
  held_.emplace();
  for (const auto& [key, record] : ledger_.claims()) {
    if (!holds_devices(*record, ledger_.boot_id())) continue;
    for (const ModulePart& part : record->parts)
      for (const HeldDevice& held : part.devices) {
        if (part.module != module_ || held.allocation.admin_access) continue;
        if (const Device* device = snapshot_->find(held.device_id)) held_->push_back({device, record});
      }
  }
  return *held_;
}

bool HeldDevices::is_partitioned(std::string_view device_id) const {
  const Device* const device = snapshot_ ? snapshot_->find(device_id) : nullptr;
  return device && (!device->parent_id.empty() || !device->consumes.empty() || wholes_.contains(device->id));
}

std::optional<HeldDevices::Held> HeldDevices::ruled_out_by(std::string_view device_id, const ClaimKey& claimant) const {
  if (!is_partitioned(device_id)) return std::nullopt;
  const Device* const wanted = snapshot_->find(device_id);
  for (const Held& held : held())
    if (overlap(*held.device, *wanted) && !held.holder->is(claimant)) return held;
  return overdrawn(*wanted, claimant);
}

bool HeldDevices::overlap(std::string_view device_id, std::string_view other_id) const {
  const Device* const one = snapshot_ ? snapshot_->find(device_id) : nullptr;
  const Device* const other = snapshot_ ? snapshot_->find(other_id) : nullptr;
  return one && other && overlap(*one, *other);
}

std::vector<const Device*> HeldDevices::overlapping(std::string_view device_id) const {
  std::vector<const Device*> found;
  if (!is_partitioned(device_id)) return found;
  const Device* const one = snapshot_->find(device_id);
  for (const Device& other : snapshot_->devices)
    if (overlap(*one, other)) found.push_back(&other);
  return found;
}

// A module may list partitions of partitions.
bool HeldDevices::is_part_of(const Device& part, const Device& whole) const {
  const Device* device = &part;
  for (std::size_t depth = 0; device && !device->parent_id.empty() && depth < snapshot_->devices.size(); ++depth) {
    if (device->parent_id == whole.id) return true;
    device = snapshot_->find(device->parent_id);
  }
  return false;
}

std::optional<HeldDevices::Held> HeldDevices::overdrawn(const Device& wanted, const ClaimKey& claimant) const {
  for (const CounterUse& use : wanted.consumes) {
    const auto set = snapshot_->counter_sets.find(use.set);
    if (set == snapshot_->counter_sets.end()) continue;
    for (const auto& [counter, wanted_amount] : use.counters) {
      const auto capacity = set->second.find(counter);
      if (capacity == set->second.end()) continue;
      long double sum = amount_of(wanted_amount);
      std::optional<Held> another;
      std::set<const Device*> counted{&wanted};  // several claims may share a device
      for (const Held& held : held()) {
        const long double amount = use_of(*held.device, use.set, counter);
        if (amount <= 0 || held.device->id == wanted.id || !counted.insert(held.device).second) continue;
        sum += amount;
        if (!held.holder->is(claimant)) another = held;
      }
      if (another && sum > amount_of(capacity->second) * kRounding) return another;
    }
  }
  return std::nullopt;
}

}  // namespace cardcage
