#include "fleet/fleet_device.h"

#include <algorithm>
#include <array>

namespace cardcage {
namespace {

// Far more than the API allows (128 devices, 32 attributes, 16 taints).
constexpr std::size_t kMaxDevices = 1024, kMaxEntries = 512;
// Names of attributes, without their domain, that tell people what a device is; the first one counts.
constexpr std::array<std::string_view, 4> kModelAttributes = {"productName", "model", "product", "type"};

std::string_view local_name(std::string_view attribute) {
  const auto slash = attribute.rfind('/');
  return slash == std::string_view::npos ? attribute : attribute.substr(slash + 1);
}

// An attribute has one member, named for its type: {"string": "A100"}.
const json::value* value_of(const json::value& attribute) {
  const json::object& typed = as_object(attribute);
  return typed.empty() || typed.begin()->value().is_object() ? nullptr : &typed.begin()->value();
}

std::string_view model_of(const json::object& attributes) {
  for (const std::string_view wanted : kModelAttributes) {
    for (const auto& attribute : attributes) {
      if (local_name(attribute.key()) != wanted) continue;
      const json::value* const value = value_of(attribute.value());
      if (value != nullptr && value->is_string() && !value->get_string().empty()) return value->get_string();
    }
  }
  return "";
}

// {"attributes": {"domain/name": value}, "capacity": {"memory": "80Gi"}}
json::object details_of(const json::object& device) {
  json::object attributes, capacity;
  for (const auto& attribute : object_at(device, "attributes")) {
    const json::value* const value = value_of(attribute.value());
    if (value != nullptr && attributes.size() < kMaxEntries) attributes[attribute.key()] = *value;
  }
  for (const auto& amount : object_at(device, "capacity"))
    if (capacity.size() < kMaxEntries) capacity[amount.key()] = text_at(as_object(amount.value()), "value");
  return {{"attributes", std::move(attributes)}, {"capacity", std::move(capacity)}};
}

}  // namespace

std::string_view word(DeviceState state) {
  constexpr std::array<std::string_view, kDeviceStates> kWords = {"unhealthy", "cordoned", "held", "free"};
  return kWords.at(static_cast<std::size_t>(state));
}

std::string_view word(FleetEffect effect) {
  constexpr std::array<std::string_view, 3> kWords = {"None", "NoSchedule", "NoExecute"};
  return kWords.at(static_cast<std::size_t>(effect));
}

bool FleetTaint::is_cordon() const { return effect == FleetEffect::kNoSchedule && value.get() == "Cordoned"; }

FleetTaint taint_from_json(const json::object& taint) {
  const std::string_view effect = text_at(taint, "effect");
  FleetTaint read{.key = Name(std::string(text_at(taint, "key"))),
                  .value = Name(std::string(text_at(taint, "value"))),
                  .effect = FleetEffect::kNone,
                  .since = std::string(text_at(taint, "timeAdded"))};
  if (effect == word(FleetEffect::kNoSchedule)) read.effect = FleetEffect::kNoSchedule;
  if (effect == word(FleetEffect::kNoExecute)) read.effect = FleetEffect::kNoExecute;
  return read;
}

Result<FleetSlice> fleet_slice_from_json(const json::object& slice) {
  const json::object& spec = object_at(slice, "spec");
  const json::object& pool = object_at(spec, "pool");
  const std::string_view name = text_at(object_at(slice, "metadata"), "name"), driver = text_at(spec, "driver");
  if (name.empty() || driver.empty() || text_at(pool, "name").empty())
    return fail(Code::kInvalidArgument, "ResourceSlice '{}' has no name, driver or pool", name);
  FleetSlice read{.name = Name(std::string(name)),
                  .driver = Name(std::string(driver)),
                  .pool = Name(std::string(text_at(pool, "name"))),
                  .generation = int_at(pool, "generation"),
                  .slice_count = int_at(pool, "resourceSliceCount")};
  const std::string_view node = text_at(spec, "nodeName");
  const Name of_slice(std::string(node.empty() ? kSharedNode : node));
  json::array details;
  for (const json::value& item : array_at(spec, "devices")) {
    const json::object& outer = as_object(item);
    if (text_at(outer, "name").empty() || read.devices.size() == kMaxDevices) continue;
    const json::object& device = outer.contains("basic") ? object_at(outer, "basic") : outer;
    const std::string_view own_node = text_at(device, "nodeName");
    for (const json::value& taint : array_at(device, "taints"))
      if (read.taints.size() < kMaxDevices)
        read.taints.push_back({static_cast<std::uint32_t>(read.devices.size()), taint_from_json(as_object(taint))});
    read.devices.push_back({.name = Name(std::string(text_at(outer, "name"))),
                            .model = Name(std::string(model_of(object_at(device, "attributes")))),
                            .node = own_node.empty() ? of_slice : Name(std::string(own_node))});
    details.push_back(json::value(details_of(device)));
  }
  read.devices.shrink_to_fit();
  read.taints.shrink_to_fit();
  read.details = Deflated(json::serialize(details));
  return read;
}

}  // namespace cardcage
