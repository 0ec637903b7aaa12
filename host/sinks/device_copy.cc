#include "host/sinks/device_copy.h"

#include <algorithm>
#include <cmath>

#include "host/model/naming.h"
#include "host/sinks/borrowed.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxNumaNodes = 64;
constexpr std::int32_t kMaxNumaNode = 1023;
constexpr std::int32_t kMinExponent = -9, kMaxExponent = 18;  // nano to exa
constexpr std::string_view kAttributeName =
    "a C identifier of at most 32 characters, with or without a \"domain/\" of at most 63";

bool is_short_enough(std::string_view text) { return text.size() <= kMaxAttributeText; }

Result<std::string> attribute_text(cage_str given) {
  if (auto text = ruled_text(given, is_utf8, "value", "valid UTF-8"); !text) return text;
  return ruled_text(given, is_short_enough, "value", "at most 64 bytes long: shorten it");
}
Result<SemVer> attribute_version(cage_str given) {
  auto text = ruled_text(given, is_semver, "value",
                         "a semantic version such as 535.104.5: "
                         "pad it to three numbers without leading zeros, or use a string");
  if (!text) return std::unexpected(text.error());
  return SemVer{std::move(*text)};
}
Result<bool> attribute_bool(std::int64_t given) {
  if (given != 0 && given != 1) return fail(Code::kInvalidArgument, "value {} is not a boolean, 0 or 1", given);
  return given == 1;
}
Result<std::int64_t> attribute_int(std::int64_t given) { return given; }

template <class Value, class Given>
Result<AttributeValue> copy_list(const Given* given, std::uint32_t count, Result<Value> (*copy)(Given)) {
  const auto items = items_of(given, count, kMaxAttributeValues, "list");
  if (!items) return std::unexpected(items.error());
  if (items->empty()) return fail(Code::kInvalidArgument, "list is empty: leave the attribute out");
  std::vector<Value> values;
  for (const Given& item : *items) {
    auto value = copy(item);
    if (!value) return std::unexpected(value.error());
    values.push_back(std::move(*value));
  }
  return AttributeValue(std::move(values));
}

Result<AttributeValue> as_attribute(auto value) {
  if (!value) return std::unexpected(value.error());
  return AttributeValue(std::move(*value));
}

Result<AttributeValue> copy_value(const cage_attr& attr) {
  if ((attr.type & CAGE_ATTR_LIST) == 0 && attr.count != 1)
    return fail(Code::kInvalidArgument, "count is {}: set it to 1 for a single value", attr.count);
  switch (attr.type) {
    case CAGE_ATTR_INT: return as_attribute(attribute_int(attr.v.i));
    case CAGE_ATTR_BOOL: return as_attribute(attribute_bool(attr.v.i));
    case CAGE_ATTR_STRING: return as_attribute(attribute_text(attr.v.s));
    case CAGE_ATTR_VERSION: return as_attribute(attribute_version(attr.v.s));
    case CAGE_ATTR_LIST | CAGE_ATTR_INT: return copy_list<std::int64_t>(attr.v.ints, attr.count, &attribute_int);
    case CAGE_ATTR_LIST | CAGE_ATTR_BOOL: return copy_list<bool>(attr.v.ints, attr.count, &attribute_bool);
    case CAGE_ATTR_LIST | CAGE_ATTR_STRING: return copy_list<std::string>(attr.v.strs, attr.count, &attribute_text);
    case CAGE_ATTR_LIST | CAGE_ATTR_VERSION: return copy_list<SemVer>(attr.v.strs, attr.count, &attribute_version);
    default: return fail(Code::kInvalidArgument, "type {} is unknown [R16]", attr.type);
  }
}

std::size_t value_count(const cage_attr& attr) { return (attr.type & CAGE_ATTR_LIST) == 0 ? 1 : attr.count; }

Status copy_device_attributes(const cage_device& given, Device& device) {
  auto attributes = copy_attributes(given.attrs, given.attr_count);
  if (!attributes) return std::unexpected(attributes.error());
  device.attributes = std::move(*attributes);
  return {};
}

Status copy_capacity(const cage_device& given, Device& device) {
  const auto items = items_of(given.capacity, given.capacity_count, kMaxAttributes, "capacity");
  if (!items) return std::unexpected(items.error());
  auto capacity = copy_quantities(*items, is_qualified_name, "capacity", kAttributeName);
  if (!capacity) return std::unexpected(capacity.error());
  device.capacity = std::move(*capacity);
  const std::size_t total = device.attributes.size() + device.capacity.size();
  const std::size_t limit = device.pci_bus_id.empty() ? kMaxAttributes : kMaxAttributes - kDerivedAttributes;
  if (total > limit)
    return fail(Code::kInvalidArgument, "attributes and capacities are {}, at most {} are allowed{}", total, limit,
                device.pci_bus_id.empty() ? "" : " beside the three that the host derives from pci_bus_id");
  return {};
}

Status copy_numa_nodes(const cage_device& given, Device& device) {
  const auto nodes = items_of(given.numa_nodes, given.numa_count, kMaxNumaNodes, "numa_nodes");
  if (!nodes) return std::unexpected(nodes.error());
  for (const std::int32_t node : *nodes) {
    if (node < 0 || node > kMaxNumaNode)
      return fail(Code::kInvalidArgument, "NUMA node {} is not in 0 to {}: leave out what is not known", node,
                  kMaxNumaNode);
    if (std::ranges::find(device.numa_nodes, node) != device.numa_nodes.end())
      return fail(Code::kInvalidArgument, "NUMA node {} appears twice", node);
    device.numa_nodes.push_back(node);
  }
  return {};
}

Status copy_texts(const cage_device& given, Device& device) {
  auto id = ruled_text(given.id, is_device_id, "id", "1 to 253 printable ASCII characters without spaces");
  if (!id) return std::unexpected(id.error());
  auto kind = ruled_text(given.kind, is_dns_label, "kind", "a word of lower-case letters, digits and '-'");
  if (!kind) return std::unexpected(kind.error());
  auto parent = ruled_text(given.parent_id, or_empty(is_device_id), "parent_id", "a device id");
  if (!parent) return std::unexpected(parent.error());
  if (*parent == *id) return fail(Code::kInvalidArgument, "it is its own parent: leave parent_id empty");
  auto address = ruled_text(given.pci_bus_id, or_empty(is_pci_bus_id), "pci_bus_id",
                            "an address like 0000:3b:00.0 with four to eight digits of domain, in lower case");
  if (!address) return std::unexpected(address.error());
  auto name = ruled_text(given.name, or_empty(is_dns_label), "name",
                         "a DNS label: lower-case letters, digits and '-', at most 63");
  if (!name) return std::unexpected(name.error());
  device.id = std::move(*id);
  device.name = std::move(*name);
  device.kind = std::move(*kind);
  device.parent_id = std::move(*parent);
  device.pci_bus_id = std::move(*address);
  return {};
}

Status copy_own_health(const cage_device& given, Device& device) {
  if (given.health == nullptr) return {};
  const auto adopted = adopt(given.health, "cage_health");
  if (!adopted) return std::unexpected(adopted.error());
  auto health = copy_health(*adopted);
  if (!health) return std::unexpected(health.error());
  if (!health->first.empty() && health->first != device.id)
    return fail(Code::kInvalidArgument, "health.device_id '{}' is another device", health->first);
  device.health = std::move(health->second);
  return {};
}

}  // namespace

Result<Attributes> copy_attributes(const cage_attr* given, std::uint32_t count) {
  const auto attrs = items_of(given, count, kMaxAttributes, "attrs");
  if (!attrs) return std::unexpected(attrs.error());
  Attributes copies;
  std::size_t values = 0;
  for (const cage_attr& attr : *attrs) {
    auto name = ruled_text(attr.name, is_qualified_name, "attribute name", kAttributeName);
    if (!name) return std::unexpected(name.error());
    auto value = copy_value(attr);
    if (!value) return within(value.error(), "attribute '{}'", *name);
    values += value_count(attr);
    if (!copies.emplace(*name, std::move(*value)).second)
      return fail(Code::kInvalidArgument, "attribute '{}' appears twice", *name);
  }
  if (values > kMaxAttributeValues)
    return fail(Code::kInvalidArgument, "attributes have {} values, at most {} are allowed", values,
                kMaxAttributeValues);
  return copies;
}

Result<Quantity> copy_quantity(const cage_quantity& given) {
  if (given.format > CAGE_QTY_BINARY) return fail(Code::kInvalidArgument, "format {} is unknown [R16]", given.format);
  if (given.value < 0) return fail(Code::kInvalidArgument, "value {} is negative", given.value);
  const bool binary = given.format == CAGE_QTY_BINARY;
  if (given.exp10 < kMinExponent || given.exp10 > kMaxExponent || (binary && given.exp10 != 0))
    return fail(Code::kInvalidArgument, "exp10 {} is not in {} to {}, or 0 for a binary quantity", given.exp10,
                kMinExponent, kMaxExponent);
  return Quantity{given.value, given.exp10, binary ? Quantity::Format::kBinary : Quantity::Format::kDecimal};
}

Result<std::map<std::string, Quantity>> copy_quantities(std::span<const cage_quantity> given,
                                                        bool (*rule)(std::string_view), std::string_view what,
                                                        std::string_view expected_name) {
  std::map<std::string, Quantity> copies;
  for (const cage_quantity& item : given) {
    auto name = ruled_text(item.name, rule, fmt::format("{} name", what), expected_name);
    if (!name) return std::unexpected(name.error());
    const auto quantity = copy_quantity(item);
    if (!quantity) return within(quantity.error(), "{} '{}'", what, *name);
    if (!copies.emplace(*name, *quantity).second)
      return fail(Code::kInvalidArgument, "{} '{}' appears twice", what, *name);
  }
  return copies;
}

Result<RequestPolicy> copy_request_policy(const cage_request_policy& given) {
  RequestPolicy policy;
  const auto values = items_of(given.values, given.value_count, kMaxPolicyValues, "values");
  if (!values) return std::unexpected(values.error());
  for (const cage_quantity& value : *values) {
    const auto copy = copy_quantity(value);
    if (!copy) return within(copy.error(), "values[{}]", policy.values.size());
    policy.values.push_back(*copy);
  }
  struct Part {
    std::string_view name;
    const cage_quantity* given;
    std::optional<Quantity>& copy;
  };
  for (const Part& part :
       {Part{"default_amount", given.default_amount, policy.default_amount}, Part{"min", given.min, policy.min},
        Part{"max", given.max, policy.max}, Part{"step", given.step, policy.step}}) {
    if (part.given == nullptr) continue;
    const auto copy = copy_quantity(*part.given);
    if (!copy) return within(copy.error(), "{}", part.name);
    part.copy = *copy;
  }
  return policy;
}

Result<Binding> copy_binding(const cage_binding& given) {
  if ((given.flags & ~CAGE_BINDING_TO_NODE) != 0)
    return fail(Code::kInvalidArgument, "flags {:#x} of cage_binding are unknown [R16]", given.flags);
  Binding binding;
  binding.to_node = (given.flags & CAGE_BINDING_TO_NODE) != 0;
  struct Part {
    std::string_view name;
    const cage_str* given;
    std::uint32_t count;
    std::vector<std::string>& copies;
  };
  for (const Part& part : {Part{"conditions", given.conditions, given.condition_count, binding.conditions},
                           Part{"failures", given.failures, given.failure_count, binding.failures}}) {
    const auto types = items_of(part.given, part.count, kMaxBindingConditions, part.name);
    if (!types) return std::unexpected(types.error());
    for (const cage_str type : *types) {
      auto copy = ruled_text(type, is_label_key, part.name, "the type of a condition, such as Ready");
      if (!copy) return std::unexpected(copy.error());
      part.copies.push_back(std::move(*copy));
    }
  }
  return binding;
}

Result<std::pair<std::string, Health>> copy_health(const cage_health& given) {
  const auto optional_word = [](std::string_view text) { return text.empty() || is_camel_case(text, 64); };
  auto id = ruled_text(given.device_id, or_empty(is_device_id), "health.device_id", "a device id");
  if (!id) return std::unexpected(id.error());
  auto reason = ruled_text(given.reason, optional_word, "health.reason",
                           "a CamelCase word of at most 64 letters and digits, such as XidError");
  if (!reason) return std::unexpected(reason.error());
  auto cause = ruled_text(given.cause, optional_word, "health.cause",
                          "a CamelCase word of at most 64 letters and digits, such as Ecc");
  if (!cause) return std::unexpected(cause.error());
  const auto optional_key = [](std::string_view text) {
    return text.empty() || (text.contains('/') && is_label_key(text));
  };
  auto key = ruled_text(given.taint_key, optional_key, "health.taint_key",
                        "the key of a label with a domain, such as example.com/ecc");
  if (!key) return std::unexpected(key.error());
  auto value =
      ruled_text(given.taint_value, is_label_value, "health.taint_value",
                 "the value of a label: at most 63 letters, digits, '-', '_' and '.', letters or digits at the ends");
  if (!value) return std::unexpected(value.error());
  if (given.state > CAGE_HEALTH_DEGRADED)
    return fail(Code::kInvalidArgument, "health.state {} is unknown [R16]", given.state);
  if (given.taint > CAGE_TAINT_INFORM)
    return fail(Code::kInvalidArgument, "health.taint {} is unknown [R16]", given.taint);
  if (given.timeout_s > kMaxHealthTimeout.count())
    return fail(Code::kInvalidArgument, "health.timeout_s {} is more than a day", given.timeout_s);
  if (given.has_value > 1)
    return fail(Code::kInvalidArgument, "health.has_value is {}: set it to 0 or 1", given.has_value);
  if (given.has_value == 1 && !std::isfinite(given.value))
    return fail(Code::kInvalidArgument, "health.value {} is not finite: leave out what is not known", given.value);
  const auto message = text_of(given.message, 1 << 20, "health.message");
  if (!message) return std::unexpected(message.error());
  return std::pair(std::move(*id), Health{.state = static_cast<HealthState>(given.state),
                                          .reason = std::move(*reason),
                                          .message = printable_lines(*message, kMaxHealthMessage),
                                          .timeout = std::chrono::seconds(given.timeout_s),
                                          .taint = static_cast<TaintEffect>(given.taint),
                                          .cause = std::move(*cause),
                                          .taint_key = std::move(*key),
                                          .taint_value = std::move(*value),
                                          .value = given.has_value == 1 ? std::optional(given.value) : std::nullopt});
}

Result<Device> copy_device(const cage_device& given) {
  Device device;
  if (const std::uint32_t unknown = given.flags & ~static_cast<std::uint32_t>(CAGE_DEVICE_SHARED); unknown != 0)
    return fail(Code::kInvalidArgument, "flags 0x{:x} are unknown [R16]", unknown);
  device.shared = (given.flags & CAGE_DEVICE_SHARED) != 0;
  for (const auto copy : {copy_texts, copy_numa_nodes, copy_device_attributes, copy_capacity, copy_own_health})
    if (auto copied = copy(given, device); !copied) return std::unexpected(copied.error());
  return device;
}

}  // namespace cardcage
