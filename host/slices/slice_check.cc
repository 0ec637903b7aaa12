// The checks of resource.k8s.io that a single device can fail (k/k pkg/apis/resource/validation). The API server would
// refuse a whole slice for one bad device.
#include <fmt/format.h>

#include <algorithm>

#include "host/model/attribute_limits.h"
#include "host/model/naming.h"
#include "host/model/text_rules.h"
#include "host/slices/slice_view.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxCounterUses = 2;
constexpr std::size_t kMaxCounters = 32;

using Flaw = std::optional<std::string>;

bool is_good(std::int64_t) { return true; }
bool is_good(bool) { return true; }
bool is_good(const std::string& text) { return text.size() <= kMaxAttributeText && is_utf8(text); }
bool is_good(const SemVer& version) { return is_semver(version.text); }

struct ValueCheck {
  std::size_t values = 0;
  bool good = true;

  template <class T>
  void operator()(const T& value) {
    ++values;
    good = good && is_good(value);
  }
  template <class T>
  void operator()(const std::vector<T>& list) {
    values += list.size();
    good = good && !list.empty() && std::ranges::all_of(list, [](const T& item) { return is_good(item); });
  }
};

Flaw attribute_flaw(const SliceDevice& device) {
  if (device.attributes.size() + device.capacity.size() > kMaxAttributes)
    return fmt::format("has more than {} attributes and capacities", kMaxAttributes);
  ValueCheck check;
  for (const auto& [name, value] : device.attributes) {
    if (!is_qualified_name(name)) return fmt::format("attribute '{}' has no valid name", name);
    std::visit(check, value);
    if (!check.good)
      return fmt::format("attribute '{}' is not a text of at most {} bytes, a semantic version or a list of them", name,
                         kMaxAttributeText);
  }
  if (check.values > kMaxAttributeValues) return fmt::format("has more than {} attribute values", kMaxAttributeValues);
  for (const auto& [name, amount] : device.capacity)
    if (!is_qualified_name(name)) return fmt::format("capacity '{}' has no valid name", name);
  return std::nullopt;
}

Flaw counter_flaw(const SliceDevice& device, const CounterSets& sets) {
  if (device.consumes.size() > kMaxCounterUses)
    return fmt::format("consumes counters of more than {} sets", kMaxCounterUses);
  for (std::size_t i = 0; i < device.consumes.size(); ++i) {
    const CounterUse& use = device.consumes[i];
    const auto set = sets.find(use.set);
    if (set == sets.end() || !is_counter_set(set->first, set->second))
      return fmt::format("consumes counters of '{}', which is not a valid counter set of the pool", use.set);
    if (i > 0 && device.consumes[0].set == use.set) return fmt::format("names counter set '{}' twice", use.set);
    if (use.counters.empty()) return fmt::format("consumes nothing of counter set '{}'", use.set);
    for (const auto& [name, amount] : use.counters)
      if (!set->second.contains(name)) return fmt::format("counter set '{}' has no counter '{}'", use.set, name);
  }
  return std::nullopt;
}

Flaw taint_flaw(const SliceDevice& device) {
  if (device.taints.size() > kMaxTaints) return fmt::format("has more than {} taints", kMaxTaints);
  for (const DeviceTaint& taint : device.taints) {
    if (!is_label_key(taint.key)) return fmt::format("taint '{}' has no valid key", taint.key);
    if (!is_label_value(taint.value)) return fmt::format("taint '{}' has no valid value '{}'", taint.key, taint.value);
    if (taint.effect != "None" && taint.effect != "NoSchedule" && taint.effect != "NoExecute")
      return fmt::format("taint '{}' has the unknown effect '{}'", taint.key, taint.effect);
  }
  return std::nullopt;
}

}  // namespace

bool is_counter_set(const std::string& name, const std::map<std::string, Quantity>& counters) {
  return is_dns_label(name) && !counters.empty() && counters.size() <= kMaxCounters &&
         std::ranges::all_of(counters, [](const auto& counter) { return is_dns_label(counter.first); });
}

std::optional<std::string> flaw_of(const SliceDevice& device, const CounterSets& counters) {
  if (!is_dns_label(device.name)) return "the name is not a DNS label";
  if (auto flaw = attribute_flaw(device)) return flaw;
  if (auto flaw = flaw_of(device.policies, device.capacity, device.shared)) return flaw;
  if (auto flaw = flaw_of(device.binding)) return flaw;
  if (auto flaw = counter_flaw(device, counters)) return flaw;
  return taint_flaw(device);
}

}  // namespace cardcage
