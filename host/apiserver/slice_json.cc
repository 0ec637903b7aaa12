#include "host/apiserver/slice_json.h"

#include <type_traits>

#include "host/apiserver/object_name.h"
#include "host/model/device_json.h"

namespace cardcage {
namespace {

// Far more than the API allows (128 devices, 32 attributes, 8 counter sets); nothing beyond that is read.
constexpr std::size_t kMaxDevices = 1024, kMaxEntries = 512;

json::object quantities_json(const std::map<std::string, Quantity>& quantities) {
  json::object object;
  for (const auto& [name, quantity] : quantities) object[name] = json::object{{"value", quantity.to_string()}};
  return object;
}

json::object policy_json(const RequestPolicy& policy) {
  json::object object, range;
  if (policy.default_amount) object["default"] = policy.default_amount->to_string();
  for (const Quantity& value : policy.values) {
    if (!object.contains("validValues")) object["validValues"] = json::array();
    object["validValues"].get_array().push_back(json::value(value.to_string()));
  }
  if (policy.min) range["min"] = policy.min->to_string();
  if (policy.max) range["max"] = policy.max->to_string();
  if (policy.step) range["step"] = policy.step->to_string();
  if (!range.empty()) object["validRange"] = std::move(range);
  return object;
}

json::object capacity_json(const SliceDevice& device) {
  json::object object = quantities_json(device.capacity);
  for (const auto& [name, policy] : device.policies)
    if (auto* capacity = object.if_contains(name)) capacity->get_object()["requestPolicy"] = policy_json(policy);
  return object;
}

json::array texts_json(const std::vector<std::string>& texts) {
  json::array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

json::object device_body(const SliceDevice& device) {
  json::object body;
  for (const auto& [name, value] : device.attributes) {
    if (!body.contains("attributes")) body["attributes"] = json::object();
    body["attributes"].get_object()[name] = attribute_json(value);
  }
  if (!device.capacity.empty()) body["capacity"] = capacity_json(device);
  if (!device.consumes.empty()) {
    auto& uses = (body["consumesCounters"] = json::array()).get_array();
    for (const auto& use : device.consumes)
      uses.push_back(json::object{{"counterSet", use.set}, {"counters", quantities_json(use.counters)}});
  }
  if (!device.taints.empty()) {
    auto& taints = (body["taints"] = json::array()).get_array();
    for (const auto& taint : device.taints) {
      json::object object{{"key", taint.key}};
      if (!taint.value.empty()) object["value"] = taint.value;
      object["effect"] = taint.effect;
      if (!taint.time_added.empty()) object["timeAdded"] = taint.time_added;
      taints.push_back(std::move(object));
    }
  }
  if (device.binding.to_node) body["bindsToNode"] = true;
  if (!device.binding.conditions.empty()) body["bindingConditions"] = texts_json(device.binding.conditions);
  if (!device.binding.failures.empty()) body["bindingFailureConditions"] = texts_json(device.binding.failures);
  if (device.allow_multiple_allocations) body["allowMultipleAllocations"] = true;
  return body;
}

json::value device_json(const SliceDevice& device, ResourceApi version) {
  json::object object{{"name", device.name}};
  json::object body = device_body(device);
  if (version == ResourceApi::kV1beta1) {
    object["basic"] = std::move(body);
  } else {
    for (auto& [key, value] : body) object[key] = std::move(value);
  }
  return object;
}

json::object metadata_json(const Slice& slice) {
  json::object metadata;
  if (!slice.name.empty()) metadata["name"] = slice.name;
  if (slice.name.empty() && !slice.generate_name.empty()) metadata["generateName"] = slice.generate_name;
  if (!slice.uid.empty()) metadata["uid"] = slice.uid;
  if (!slice.resource_version.empty()) metadata["resourceVersion"] = slice.resource_version;
  if (!slice.owner_node_uid.empty())
    metadata["ownerReferences"] = json::array{json::object{{"apiVersion", "v1"},
                                                           {"kind", "Node"},
                                                           {"name", slice.node_name},
                                                           {"uid", slice.owner_node_uid},
                                                           {"controller", true}}};
  return metadata;
}

template <class T>
bool read_scalar(const json::value& value, T& target) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    const auto* number = value.if_int64();
    return number != nullptr && (target = *number, true);
  } else if constexpr (std::is_same_v<T, bool>) {
    const auto* flag = value.if_bool();
    return flag != nullptr && (target = *flag, true);
  } else {
    const auto* text = value.if_string();
    if (text == nullptr) return false;
    if constexpr (std::is_same_v<T, SemVer>) target.text = std::string_view(*text);
    if constexpr (std::is_same_v<T, std::string>) target = std::string_view(*text);
    return true;
  }
}

template <class T>
bool read_scalar(const json::value& value, std::vector<T>& target) {
  const auto* array = value.if_array();
  if (array == nullptr || array->empty() || array->size() > kMaxEntries) return false;
  for (const auto& item : *array) {
    T scalar{};
    if (!read_scalar(item, scalar)) return false;
    target.push_back(std::move(scalar));
  }
  return true;
}

template <std::size_t I = 0>
std::optional<AttributeValue> attribute_from(const json::object& object) {
  if constexpr (I == std::variant_size_v<AttributeValue>) {
    return std::nullopt;
  } else {
    using T = std::variant_alternative_t<I, AttributeValue>;
    const auto* value = object.if_contains(attribute_key<T>());
    T target{};
    if (value == nullptr || !read_scalar(*value, target)) return attribute_from<I + 1>(object);
    return AttributeValue(std::in_place_index<I>, std::move(target));
  }
}

std::map<std::string, Quantity> quantities_from(const json::object& object) {
  std::map<std::string, Quantity> quantities;
  for (const auto& [name, value] : object) {
    if (quantities.size() == kMaxEntries) break;
    if (const auto quantity = Quantity::parse(text_at(as_object(value), "value"))) quantities.emplace(name, *quantity);
  }
  return quantities;
}

std::optional<Quantity> quantity_at(const json::object& object, std::string_view key) {
  const auto quantity = Quantity::parse(text_at(object, key));
  return quantity ? std::optional(*quantity) : std::nullopt;
}

RequestPolicy policy_from(const json::object& object) {
  RequestPolicy policy;
  policy.default_amount = quantity_at(object, "default");
  for (const auto& item : array_at(object, "validValues")) {
    if (policy.values.size() == kMaxEntries) break;
    const auto* text = item.if_string();
    if (text == nullptr) continue;
    if (const auto value = Quantity::parse(*text)) policy.values.push_back(*value);
  }
  const auto& range = object_at(object, "validRange");
  policy.min = quantity_at(range, "min");
  policy.max = quantity_at(range, "max");
  policy.step = quantity_at(range, "step");
  return policy;
}

RequestPolicies policies_from(const json::object& object, const std::map<std::string, Quantity>& capacity) {
  RequestPolicies policies;
  for (const auto& [name, amount] : capacity) {
    const auto* policy = object_at(object, name).if_contains("requestPolicy");
    if (policy != nullptr && policy->is_object()) policies.emplace(name, policy_from(policy->get_object()));
  }
  return policies;
}

std::vector<std::string> texts_from(const json::array& array) {
  std::vector<std::string> texts;
  for (const auto& item : array) {
    if (texts.size() == kMaxEntries) break;
    if (const auto* text = item.if_string()) texts.emplace_back(*text);
  }
  return texts;
}

SliceDevice device_from(const json::object& object) {
  SliceDevice device;
  device.name = text_at(object, "name");
  const auto& body = object.contains("basic") ? object_at(object, "basic") : object;
  for (const auto& [name, value] : object_at(body, "attributes")) {
    if (device.attributes.size() == kMaxEntries) break;
    if (auto attribute = attribute_from(as_object(value))) device.attributes.emplace(name, std::move(*attribute));
  }
  device.capacity = quantities_from(object_at(body, "capacity"));
  device.policies = policies_from(object_at(body, "capacity"), device.capacity);
  for (const auto& item : array_at(body, "consumesCounters")) {
    if (device.consumes.size() == kMaxEntries) break;
    const auto& use = as_object(item);
    device.consumes.push_back({std::string(text_at(use, "counterSet")), quantities_from(object_at(use, "counters"))});
  }
  for (const auto& item : array_at(body, "taints")) {
    if (device.taints.size() == kMaxEntries) break;
    const auto& taint = as_object(item);
    device.taints.push_back({std::string(text_at(taint, "key")), std::string(text_at(taint, "value")),
                             std::string(text_at(taint, "effect")), std::string(text_at(taint, "timeAdded"))});
  }
  device.binding = {texts_from(array_at(body, "bindingConditions")),
                    texts_from(array_at(body, "bindingFailureConditions")), bool_at(body, "bindsToNode")};
  device.allow_multiple_allocations = bool_at(body, "allowMultipleAllocations");
  return device;
}

std::string owner_node(const json::object& metadata) {
  for (const auto& item : array_at(metadata, "ownerReferences")) {
    const auto& owner = as_object(item);
    if (text_at(owner, "kind") == "Node") return std::string(text_at(owner, "uid"));
  }
  return {};
}

}  // namespace

std::string_view to_string(ResourceApi version) {
  switch (version) {
    case ResourceApi::kV1: return "v1";
    case ResourceApi::kV1beta2: return "v1beta2";
    case ResourceApi::kV1beta1: return "v1beta1";
  }
  return "";
}

json::object slice_to_json(const Slice& slice, ResourceApi version) {
  json::object spec{{"driver", slice.driver},
                    {"nodeName", slice.node_name},
                    {"pool", json::object{{"name", slice.pool.name},
                                          {"generation", slice.pool.generation},
                                          {"resourceSliceCount", slice.pool.slice_count}}}};
  if (!slice.devices.empty()) {
    auto& devices = (spec["devices"] = json::array()).get_array();
    for (const auto& device : slice.devices) devices.push_back(device_json(device, version));
  }
  if (!slice.shared_counters.empty()) {
    auto& sets = (spec["sharedCounters"] = json::array()).get_array();
    for (const auto& [name, counters] : slice.shared_counters)
      sets.push_back(json::object{{"name", name}, {"counters", quantities_json(counters)}});
  }
  if (!slice.skip_node_operations.empty()) {
    auto& skipped = (spec["skipNodeOperations"] = json::array()).get_array();
    for (const std::string& operation : slice.skip_node_operations) skipped.push_back(json::value(operation));
  }
  return json::object{{"apiVersion", fmt::format("resource.k8s.io/{}", to_string(version))},
                      {"kind", "ResourceSlice"},
                      {"metadata", metadata_json(slice)},
                      {"spec", std::move(spec)}};
}

Result<Slice> slice_from_json(const json::value& value) {
  const auto& root = as_object(value);
  const auto& metadata = object_at(root, "metadata");
  const auto& spec = object_at(root, "spec");
  const auto& pool = object_at(spec, "pool");
  Slice slice;
  slice.name = text_at(metadata, "name");
  slice.uid = text_at(metadata, "uid");
  slice.resource_version = text_at(metadata, "resourceVersion");
  slice.generate_name = text_at(metadata, "generateName");
  slice.owner_node_uid = owner_node(metadata);
  if (auto valid = check_object_name(slice.name, "ResourceSlice name"); !valid) return std::unexpected(valid.error());
  slice.driver = text_at(spec, "driver");
  slice.node_name = text_at(spec, "nodeName");
  slice.pool = {std::string(text_at(pool, "name")), int_at(pool, "generation"), int_at(pool, "resourceSliceCount")};
  if (slice.driver.empty() || slice.pool.name.empty())
    return fail(Code::kInvalidArgument, "ResourceSlice '{}' has no driver or no pool", slice.name);
  const auto& devices = array_at(spec, "devices");
  if (devices.size() > kMaxDevices)
    return fail(Code::kInvalidArgument, "ResourceSlice '{}' has {} devices, at most {} are allowed", slice.name,
                devices.size(), kMaxDevices);
  for (const auto& device : devices) slice.devices.push_back(device_from(as_object(device)));
  for (const auto& item : array_at(spec, "sharedCounters")) {
    if (slice.shared_counters.size() == kMaxEntries) break;
    const auto& set = as_object(item);
    slice.shared_counters.emplace(text_at(set, "name"), quantities_from(object_at(set, "counters")));
  }
  for (const auto& item : array_at(spec, "skipNodeOperations")) {
    if (slice.skip_node_operations.size() == kMaxEntries) break;
    if (const auto* operation = item.if_string()) slice.skip_node_operations.emplace_back(*operation);
  }
  return slice;
}

}  // namespace cardcage
