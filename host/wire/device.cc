// Devices, their health and their counters.
#include <cmath>

#include "host/core/bounded.h"
#include "host/model/naming.h"
#include "host/model/text_rules.h"
#include "host/wire/messages.h"

namespace cardcage {
namespace {

using AttributeValues = google::protobuf::RepeatedPtrField<wire::AttributeValue>;
using NamedQuantities = google::protobuf::RepeatedPtrField<wire::NamedQuantity>;

struct WriteAttribute {
  wire::AttributeValue& to;
  void operator()(std::int64_t value) const { to.add_integers(value); }
  void operator()(bool value) const { to.add_flags(value); }
  void operator()(const std::string& value) const { to.add_texts(value); }
  void operator()(const SemVer& value) const { to.add_versions(value.text); }
  template <class T>
  void operator()(const std::vector<T>& values) const {
    for (const auto& value : values) (*this)(value);
  }
  void operator()(const std::vector<bool>& values) const {
    for (const bool value : values) to.add_flags(value);
  }
};

template <class T, class List>
AttributeValue one_of(const List& list) {
  return list.empty() ? AttributeValue(T{}) : AttributeValue(T{*list.begin()});
}

std::vector<SemVer> versions(const wire::AttributeValue& from) {
  std::vector<SemVer> list;
  for (const std::string& text : from.versions()) list.push_back({text});
  return list;
}

Result<AttributeValue> read_attribute(const wire::AttributeValue& from) {
  switch (from.kind()) {
    case 0: return one_of<std::int64_t>(from.integers());
    case 1: return one_of<bool>(from.flags());
    case 2: return one_of<std::string>(from.texts());
    case 3: return AttributeValue(SemVer{from.versions().empty() ? "" : from.versions(0)});
    case 4: return std::vector<std::int64_t>(from.integers().begin(), from.integers().end());
    case 5: return std::vector<bool>(from.flags().begin(), from.flags().end());
    case 6: return std::vector<std::string>(from.texts().begin(), from.texts().end());
    case 7: return versions(from);
    default: return fail(Code::kDataLoss, "attribute '{}' is of the unknown kind {}", from.name(), from.kind());
  }
}

// Maps a number beyond the last value to the worst one.
template <class Enum>
Enum known(std::uint32_t number, Enum last, Enum worst) {
  return number > static_cast<std::uint32_t>(last) ? worst : static_cast<Enum>(number);
}

void write_quantity(const Quantity& from, wire::Quantity& to) {
  to.set_value(from.value);
  to.set_exp10(from.exp10);
  to.set_binary(from.format == Quantity::Format::kBinary);
}

Quantity read_quantity(const wire::Quantity& from) {
  return {from.value(), from.exp10(), from.binary() ? Quantity::Format::kBinary : Quantity::Format::kDecimal};
}

void write_policy(const std::string& capacity, const RequestPolicy& from, wire::RequestPolicy& to) {
  to.set_capacity(capacity);
  if (from.default_amount) write_quantity(*from.default_amount, *to.mutable_default_amount());
  for (const Quantity& value : from.values) write_quantity(value, *to.add_values());
  if (from.min) write_quantity(*from.min, *to.mutable_min());
  if (from.max) write_quantity(*from.max, *to.mutable_max());
  if (from.step) write_quantity(*from.step, *to.mutable_step());
}

RequestPolicy read_policy(const wire::RequestPolicy& from) {
  RequestPolicy policy;
  if (from.has_default_amount()) policy.default_amount = read_quantity(from.default_amount());
  for (const wire::Quantity& value : from.values()) policy.values.push_back(read_quantity(value));
  if (from.has_min()) policy.min = read_quantity(from.min());
  if (from.has_max()) policy.max = read_quantity(from.max());
  if (from.has_step()) policy.step = read_quantity(from.step());
  return policy;
}

void write_binding(const Binding& from, wire::Binding& to) {
  to.mutable_conditions()->Add(from.conditions.begin(), from.conditions.end());
  to.mutable_failures()->Add(from.failures.begin(), from.failures.end());
  to.set_to_node(from.to_node);
}

Binding read_binding(const wire::Binding& from) {
  return {{from.conditions().begin(), from.conditions().end()},
          {from.failures().begin(), from.failures().end()},
          from.to_node()};
}

}  // namespace

void write(const Attributes& from, AttributeValues& to) {
  for (const auto& [name, value] : from) {
    wire::AttributeValue& out = *to.Add();
    out.set_name(name);
    out.set_kind(static_cast<std::uint32_t>(value.index()));
    std::visit(WriteAttribute{out}, value);
  }
}

Result<Attributes> read(const AttributeValues& from) {
  Attributes attributes;
  for (const wire::AttributeValue& in : from) {
    auto value = read_attribute(in);
    if (!value) return std::unexpected(std::move(value.error()));
    attributes[in.name()] = std::move(*value);
  }
  return attributes;
}

void write(const std::map<std::string, Quantity>& from, NamedQuantities& to) {
  for (const auto& [name, quantity] : from) {
    wire::NamedQuantity& out = *to.Add();
    out.set_name(name);
    write_quantity(quantity, *out.mutable_quantity());
  }
}

void write(const std::string& name, const std::map<std::string, Quantity>& from, wire::CounterSet& to) {
  to.set_name(name);
  write(from, *to.mutable_counters());
}

std::map<std::string, Quantity> read(const NamedQuantities& from) {
  std::map<std::string, Quantity> quantities;
  for (const wire::NamedQuantity& in : from) quantities[in.name()] = read_quantity(in.quantity());
  return quantities;
}

void write(const std::string& device_id, const Health& from, wire::Health& to) {
  to.set_device_id(device_id);
  to.set_state(static_cast<std::uint32_t>(from.state));
  to.set_reason(from.reason);
  to.set_message(from.message);
  to.set_timeout_seconds(from.timeout.count());
  to.set_taint(static_cast<std::uint32_t>(from.taint));
  to.set_cause(from.cause);
  to.set_taint_key(from.taint_key);
  to.set_taint_value(from.taint_value);
  if (from.value) to.set_value(*from.value);
}

Health read(const wire::Health& from) {
  return {.state = known(from.state(), HealthState::kDegraded, HealthState::kUnhealthy),
          .reason = is_camel_case(from.reason(), 64) ? from.reason() : "",
          .message = printable_lines(from.message(), kMaxHealthMessage),
          .timeout = bounded(from.timeout_seconds(), std::chrono::seconds(0), kMaxHealthTimeout),
          .taint = known(from.taint(), TaintEffect::kInform, TaintEffect::kNoExecute),
          .cause = is_camel_case(from.cause(), 64) ? from.cause() : "",
          .taint_key = is_label_key(from.taint_key()) ? from.taint_key() : "",
          .taint_value = is_label_value(from.taint_value()) ? from.taint_value() : "",
          .value = from.has_value() && std::isfinite(from.value()) ? std::optional(from.value()) : std::nullopt};
}

void write(const Device& from, wire::Device& to) {
  to.set_id(from.id);
  to.set_name(from.name);
  to.set_kind(from.kind);
  to.set_parent_id(from.parent_id);
  to.set_pci_bus_id(from.pci_bus_id);
  to.set_shared(from.shared);
  to.mutable_numa_nodes()->Add(from.numa_nodes.begin(), from.numa_nodes.end());
  write(from.attributes, *to.mutable_attributes());
  write(from.capacity, *to.mutable_capacity());
  for (const auto& [capacity, policy] : from.policies) write_policy(capacity, policy, *to.add_policies());
  if (!from.binding.empty()) write_binding(from.binding, *to.mutable_binding());
  for (const CounterUse& use : from.consumes) write(use.set, use.counters, *to.add_consumes());
  write({}, from.health, *to.mutable_health());
}

Result<Device> read(const wire::Device& from) {
  Device device;
  device.id = from.id();
  device.name = from.name();
  device.kind = from.kind();
  device.parent_id = from.parent_id();
  device.pci_bus_id = from.pci_bus_id();
  device.shared = from.shared();
  device.numa_nodes.assign(from.numa_nodes().begin(), from.numa_nodes().end());
  auto attributes = read(from.attributes());
  if (!attributes) return within(attributes.error(), "device '{}'", from.id());
  device.attributes = std::move(*attributes);
  device.capacity = read(from.capacity());
  for (const wire::RequestPolicy& policy : from.policies()) device.policies[policy.capacity()] = read_policy(policy);
  for (const wire::CounterSet& use : from.consumes()) device.consumes.push_back({use.name(), read(use.counters())});
  if (from.has_binding()) device.binding = read_binding(from.binding());
  device.health = read(from.health());
  return device;
}

}  // namespace cardcage
