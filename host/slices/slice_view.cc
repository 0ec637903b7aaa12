#include "host/slices/slice_view.h"

#include <algorithm>
#include <type_traits>
#include <unordered_set>

#include "host/model/standard_attributes.h"
#include "host/slices/slice_layout.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxTaintsOf134 = 4;

bool is_list(const AttributeValue& value) { return value.index() >= 4; }
static_assert(std::is_same_v<std::variant_alternative_t<4, AttributeValue>, std::vector<std::int64_t>>);

bool has_list(const SliceDevice& device) {
  return std::ranges::any_of(device.attributes, [](const auto& attribute) { return is_list(attribute.second); });
}

bool informs(const DeviceTaint& taint) { return taint.effect == "None"; }

// Returns true for taints that Kubernetes 1.34 refuses.
bool needs_taints_of_1_35(const SliceDevice& device) {
  return device.taints.size() > kMaxTaintsOf134 || std::ranges::any_of(device.taints, informs);
}

// Returns true for request policies that a server without the feature gate DRAFractionalCapacityRange refuses.
bool needs_fractions(const SliceDevice& device) {
  return std::ranges::any_of(device.policies,
                             [](const auto& policy) { return cardcage::needs_fractions(policy.second); });
}

bool must_not_be_scheduled(const SliceDevice& device) { return !std::ranges::all_of(device.taints, informs); }

std::optional<std::string> withheld_by_gate(const SliceDevice& device, const FeatureGates& gates) {
  using enum FeatureGates::State;
  if (!device.consumes.empty() && gates.partitionable == kOff)
    return "is a partition, and the cluster drops consumesCounters: enable its feature gate DRAPartitionableDevices";
  if (!device.consumes.empty() && gates.partitionable == kUnknown)
    return "is a partition, and the cluster has not yet shown that it keeps consumesCounters";
  if (gates.consumable_capacity && !gates.fractional_capacity && needs_fractions(device))
    return "has a request policy with amounts that are not whole, and the cluster refuses it: enable its feature gate "
           "DRAFractionalCapacityRange (new in Kubernetes 1.37)";
  if (!gates.binding_conditions && !device.binding.empty())
    return "has to be made ready before a pod gets it, and the cluster drops bindingConditions: enable its feature "
           "gates DRADeviceBindingConditions and DRAResourceClaimDeviceStatus";
  if (!gates.taints && must_not_be_scheduled(device))
    return "is tainted, and the cluster drops taints: enable its feature gate DRADeviceTaints";
  return std::nullopt;
}

// Replaces lists. The standard attribute has a form without a list: the device's own node, which is the first.
void remove_lists(Attributes& attributes) {
  const auto numa = attributes.find(kNumaNodeAttribute);
  const auto* const nodes = numa == attributes.end() ? nullptr : std::get_if<std::vector<std::int64_t>>(&numa->second);
  if (nodes != nullptr) attributes[kNumaNodeAttribute] = nodes->front();
  attributes.erase_if([](const auto& attribute) { return is_list(attribute.second); });
}

// Returns the device without the fields that this API server drops: the device itself, or a copy in `reduced`.
const SliceDevice* reduce(const SliceDevice& device, const FeatureGates& gates, std::deque<SliceDevice>& reduced) {
  const bool taints = !gates.taints && !device.taints.empty();
  const bool new_taints = !gates.taints_of_1_35 && needs_taints_of_1_35(device);
  const bool lists = !gates.list_attributes && has_list(device);
  const bool multiple = !gates.consumable_capacity && device.shared;
  if (!taints && !new_taints && !lists && !multiple) return &device;
  SliceDevice& copy = reduced.emplace_back(device);
  if (taints) copy.taints.clear();
  if (new_taints) {
    std::erase_if(copy.taints, informs);
    copy.taints.resize(std::min(copy.taints.size(), kMaxTaintsOf134));  // the strongest are first
  }
  if (lists) remove_lists(copy.attributes);
  if (multiple) {
    copy.shared = false;
    copy.policies.clear();
  }
  return &copy;
}

// Withholds large groups: in Kubernetes 1.34 a slice holds counter sets with all their consumers.
void withhold_large_groups(PoolView& view) {
  std::unordered_set<const void*> large;
  for (const SliceBin& group : group_by_counters(view)) {
    if (group.devices.size() <= kMaxSpecialSliceDevices && group.counters.size() <= kMaxSliceCounterSets) continue;
    for (const std::size_t i : group.counters) large.insert(view.counters[i]);
    for (const std::size_t i : group.devices) {
      large.insert(view.devices[i]);
      view.withheld.push_back(
          {view.devices[i]->name, "shares counters with more devices than fit in one slice of Kubernetes 1.34"});
    }
  }
  const auto is_large = [&](const void* item) { return large.contains(item); };
  std::erase_if(view.devices, is_large);
  std::erase_if(view.counters, is_large);
}

}  // namespace

bool is_special(const SliceDevice& device) {
  return !device.taints.empty() || !device.consumes.empty() || has_list(device);
}

void FeatureGates::learn(const Slice& sent, const Slice& stored) {
  if (!sent.shared_counters.empty()) partitionable = stored.shared_counters.empty() ? State::kOff : State::kOn;
  const std::size_t common = std::min(sent.devices.size(), stored.devices.size());
  for (std::size_t i = 0; i < common; ++i) {
    const SliceDevice& wanted = sent.devices[i];
    const SliceDevice& got = stored.devices[i];
    if (!wanted.consumes.empty()) partitionable = got.consumes.empty() ? State::kOff : State::kOn;
    if (!wanted.taints.empty() && got.taints.empty()) taints = false;
    if (wanted.shared && !got.shared) consumable_capacity = false;
    if (!wanted.binding.empty() && got.binding.empty()) binding_conditions = false;
  }
  if (!sent.skip_node_operations.empty() && stored.skip_node_operations.empty()) optional_node_operations = false;
}

bool FeatureGates::suspect(const PoolView& view) {
  const auto any = [&](bool (*needs)(const SliceDevice&)) {
    return std::ranges::any_of(view.devices, [&](const SliceDevice* device) { return needs(*device); });
  };
  if (any(needs_taints_of_1_35))
    taints_of_1_35 = false;
  else if (any(has_list))
    list_attributes = false;
  else if (any(needs_fractions))
    fractional_capacity = false;
  else
    return false;
  return true;
}

bool FeatureGates::absolve() {
  const bool suspected = !taints_of_1_35 || !list_attributes || !fractional_capacity;
  taints_of_1_35 = list_attributes = fractional_capacity = true;
  return suspected;
}

void FeatureGates::forget_off() {
  if (partitionable == State::kOff) partitionable = State::kUnknown;
  taints = consumable_capacity = binding_conditions = optional_node_operations = true;
  absolve();
}

std::vector<std::string> FeatureGates::off() const {
  std::vector<std::string> names;
  if (partitionable == State::kOff) names.emplace_back("DRAPartitionableDevices");
  if (!taints) names.emplace_back("DRADeviceTaints");
  if (!consumable_capacity) names.emplace_back("DRAConsumableCapacity");
  if (!fractional_capacity) names.emplace_back("DRAFractionalCapacityRange");
  if (!binding_conditions) names.emplace_back("DRADeviceBindingConditions");
  if (!list_attributes) names.emplace_back("DRAListTypeAttributes");
  return names;
}

std::shared_ptr<const PoolView> view_pool(PoolContentPtr content, CounterPlacement placement,
                                          const FeatureGates& gates) {
  auto view = std::make_shared<PoolView>();
  view->content = std::move(content);
  view->placement = placement;
  if (view->content->no_prepare && gates.optional_node_operations && gates.kubelet_skips)
    view->skip_node_operations = {"NodePrepareResources", "NodeUnprepareResources"};
  std::unordered_set<std::string_view> names;
  view->devices.reserve(view->content->devices.size());
  for (const SliceDevice& device : view->content->devices) {
    auto reason = flaw_of(device, view->content->counters);
    if (!reason) reason = withheld_by_gate(device, gates);
    if (!reason && !names.insert(device.name).second) reason = "another device has the same name";
    if (reason)
      view->withheld.push_back({device.name, *std::move(reason)});
    else
      view->devices.push_back(reduce(device, gates, view->reduced));
  }
  if (gates.partitionable != FeatureGates::State::kOff)
    for (const auto& set : view->content->counters)
      if (is_counter_set(set.first, set.second)) view->counters.push_back(&set);
  if (placement == CounterPlacement::kCombined) withhold_large_groups(*view);
  view->special.reserve(view->devices.size());
  for (const SliceDevice* device : view->devices) view->special.push_back(is_special(*device));
  return view;
}

}  // namespace cardcage
