#include "host/apiserver/slice_json.h"

#include <type_traits>

#include "host/apiserver/object_name.h"
#include "host/model/device_json.h"

namespace cardcage {
namespace {

// Far more than the API allows (128 devices, 32 attributes, 8 counter sets); nothing beyond that is read.
constexpr std::size_t kMaxDevices = 1024, kMaxEntries = 512;

json::object to_json(const std::map<std::string, Quantity>& quantities) {
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

json::array to_json(const std::vector<CounterUse>& uses) {
  json::array array;
  for (const CounterUse& use : uses)
    array.push_back(json::object{{"counterSet", use.set}, {"counters", to_json(use.counters)}});
  return array;
}
json::array to_json(const std::vector<std::string>& texts) { return json::array(texts.begin(), texts.end()); }
json::value to_json(bool value) { return value; }
json::object to_json(const Attributes& attributes) {
  json::object object;
  for (const auto& [name, value] : attributes) object[name] = attribute_json(value);
  return object;
}

// Leaves out traits with their default value, as the API server does.
struct TraitWriter {
  json::object& body;

  template <class Trait>
  void operator()(std::string_view name, const Trait& trait) const {
    if (!(trait == Trait{})) body[name] = to_json(trait);
  }
  void operator()(std::string_view name, const RequestPolicies& policies) const {
    for (const auto& [capacity, policy] : policies)
      if (json::value* of_device = body.if_contains("capacity"))
        if (json::value* amount = of_device->get_object().if_contains(capacity))
          amount->get_object()[name] = policy_json(policy);
  }
};

json::array taints_json(const std::vector<DeviceTaint>& taints) {
  json::array array;
  for (const DeviceTaint& taint : taints) {
    json::object object{{"key", taint.key}};
    if (!taint.value.empty()) object["value"] = taint.value;
    object["effect"] = taint.effect;
    if (!taint.time_added.empty()) object["timeAdded"] = taint.time_added;
    array.push_back(std::move(object));
  }
  return array;
}

json::value device_json(const SliceDevice& device, ResourceApi version) {
  json::object object{{"name", device.name}};
  json::object& body = version == ResourceApi::kV1beta1 ? object["basic"].emplace_object() : object;
  describe(TraitWriter{body}, device);
  if (!device.taints.empty()) body["taints"] = taints_json(device.taints);
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
    const auto* value = object.if_contains(kAttributeKeys[I]);
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

// Reads what TraitWriter writes, without the parts that are unreadable.
struct TraitReader {
  const json::object& body;

  void operator()(std::string_view name, Attributes& attributes) const {
    for (const auto& [key, value] : object_at(body, name)) {
      if (attributes.size() == kMaxEntries) break;
      if (auto attribute = attribute_from(as_object(value))) attributes.emplace(key, std::move(*attribute));
    }
  }
  void operator()(std::string_view name, std::map<std::string, Quantity>& quantities) const {
    quantities = quantities_from(object_at(body, name));
  }
  void operator()(std::string_view name, RequestPolicies& policies) const {
    const auto& capacity = object_at(body, "capacity");
    for (const auto& [of_capacity, amount] : quantities_from(capacity)) {
      const auto* policy = object_at(capacity, of_capacity).if_contains(name);
      if (policy != nullptr && policy->is_object()) policies.emplace(of_capacity, policy_from(policy->get_object()));
    }
  }
  void operator()(std::string_view name, std::vector<CounterUse>& uses) const {
    for (const auto& item : array_at(body, name)) {
      if (uses.size() == kMaxEntries) break;
      const auto& use = as_object(item);
      uses.push_back({std::string(text_at(use, "counterSet")), quantities_from(object_at(use, "counters"))});
    }
  }
  void operator()(std::string_view name, std::vector<std::string>& texts) const {
    for (const auto& item : array_at(body, name)) {
      if (texts.size() == kMaxEntries) break;
      if (const auto* text = item.if_string()) texts.emplace_back(*text);
    }
  }
  void operator()(std::string_view name, bool& value) const { value = bool_at(body, name); }
};

SliceDevice device_from(const json::object& object) {
  SliceDevice device;
  device.name = text_at(object, "name");
  const auto& body = object.contains("basic") ? object_at(object, "basic") : object;
  describe(TraitReader{body}, device);
  for (const auto& item : array_at(body, "taints")) {
    if (device.taints.size() == kMaxEntries) break;
    const auto& taint = as_object(item);
    device.taints.push_back({std::string(text_at(taint, "key")), std::string(text_at(taint, "value")),
                             std::string(text_at(taint, "effect")), std::string(text_at(taint, "timeAdded"))});
  }
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
      sets.push_back(json::object{{"name", name}, {"counters", to_json(counters)}});
  }
  if (!slice.skip_node_operations.empty()) spec["skipNodeOperations"] = to_json(slice.skip_node_operations);
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
