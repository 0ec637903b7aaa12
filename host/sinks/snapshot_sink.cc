#include "host/sinks/snapshot_sink.h"

#include <string_view>

#include "host/core/log.h"
#include "host/model/naming.h"
#include "host/sinks/borrowed.h"
#include "host/sinks/device_copy.h"

namespace cardcage {
namespace {

constexpr std::string_view kLabel = "a DNS label: lower-case letters, digits and '-', at most 63";

// Roughly the size of a device in memory and in a request to the API server.
std::size_t size_of(const Device& device) {
  return device.id.size() + device.parent_id.size() + device.health.message.size() + size_of(device.attributes) +
         device.capacity.size() * sizeof(Quantity);
}

}  // namespace

SnapshotSink::SnapshotSink(const std::string& module, const std::vector<CauseDeclaration>& causes, bool can_bind)
    : SinkGuard(module, "cage_snapshot"), causes_(module, causes), can_bind_(can_bind) {
  table_.struct_size = sizeof table_;
  table_.host_data = this;
  table_.device = call<&SnapshotSink::add>;
  table_.extension = [](cage_snapshot* table, const char* id) -> const void* {
    return id == nullptr ? nullptr : static_cast<SnapshotSink*>(table->host_data)->extension(id);
  };
  counters_.struct_size = sizeof counters_;
  counters_.set = call<&SnapshotSink::add_counter_set>;
  counters_.consumes = call<&SnapshotSink::add_use>;
  policy_.struct_size = sizeof policy_;
  policy_.set = call<&SnapshotSink::add_policy>;
  binding_.struct_size = sizeof binding_;
  binding_.set = call<&SnapshotSink::set_binding>;
  not_offered_.struct_size = sizeof not_offered_;
  not_offered_.add = call<&SnapshotSink::add_not_offered>;
}

const void* SnapshotSink::extension(std::string_view id) const {
  if (id == CAGE_SNAPSHOT_COUNTERS) return &counters_;
  if (id == CAGE_SNAPSHOT_POLICY) return &policy_;
  if (id == CAGE_SNAPSHOT_BINDING) return &binding_;
  if (id == CAGE_SNAPSHOT_NOT_OFFERED) return &not_offered_;
  return nullptr;
}

cage_snapshot* SnapshotSink::open() {
  abandon();
  SinkGuard::open();
  return &table_;
}

void SnapshotSink::abandon() {
  close();
  devices_.clear();
  names_.clear();
  counter_sets_.clear();
  uses_.clear();
  policies_.clear();
  bindings_.clear();
  spoiled_.clear();
  left_out_.clear();
  reasons_.clear();
  text_ = 0;
}

void SnapshotSink::leave_out(const std::string& device_id, const std::string& why) {
  if (left_out_.size() < kMaxLeftOut) left_out_.try_emplace(device_id, why);
  if (left_out_.contains(device_id))
    log_limited(LogLevel::kError, module() + "/device/" + device_id, "device is left out: " + why,
                {{"module", module()}, {"device", device_id}, {"rule", "R6"}});
  else  // a module may list any number
    log_limited(LogLevel::kError, module() + "/devices", "more devices are left out",
                {{"module", module()}, {"rule", "R6"}});
}

void SnapshotSink::spoil(const std::string& device_id, const std::string& why) {
  if (spoiled_.size() < kMaxDevices) spoiled_.insert(device_id);
  leave_out(device_id, why);
}

Status SnapshotSink::add(const cage_device* given) {
  const auto adopted = adopt(given, "cage_device");
  if (!adopted) {
    leave_out("?", adopted.error().message);
    return std::unexpected(adopted.error());
  }
  const auto refuse = [&](const Error& error) -> Status {
    leave_out(shown_name(adopted->id), error.message);
    return std::unexpected(error);
  };
  auto device = copy_device(*adopted);
  if (!device) return refuse(device.error());
  const std::size_t size = size_of(*device);
  if (devices_.size() == kMaxDevices || text_ + size > kMaxSnapshotText)
    return refuse({Code::kResourceExhausted, fmt::format("an instance may have at most {} devices and {} MiB of text",
                                                         kMaxDevices, kMaxSnapshotText >> 20)});
  if (!device->name.empty() && names_.contains(device->name))
    return refuse({Code::kAlreadyExists,
                   fmt::format("another device has the name '{}': names are unique in an instance", device->name)});
  causes_.check(device->health);
  std::string id = device->id, name = device->name;
  if (!devices_.emplace(std::move(id), std::move(*device)).second)
    return refuse({Code::kAlreadyExists, "another device has this id: ids are unique in an instance"});
  if (!name.empty()) names_.insert(std::move(name));
  text_ += size;
  return {};
}

Status SnapshotSink::add_counter_set(cage_str name, const cage_quantity* counters, std::uint32_t count) {
  const auto refuse = [&](const Error& error) -> Status {
    log_limited(LogLevel::kError, module() + "/counters", "counter set is left out: " + error.message,
                {{"module", module()}, {"set", shown_name(name)}, {"rule", "R6"}});
    return std::unexpected(error);
  };
  auto set = ruled_text(name, is_dns_label, "counter set name", kLabel);
  if (!set) return refuse(set.error());
  const auto items = items_of(counters, count, kMaxCounters, "counter set");
  if (!items) return refuse(items.error());
  auto copies = copy_quantities(*items, is_dns_label, "counter", kLabel);
  if (!copies) return refuse(copies.error());
  if (copies->empty()) return refuse({Code::kInvalidArgument, "it has no counters"});
  if (counter_sets_.size() == kMaxCounterSets)
    return refuse({Code::kResourceExhausted, fmt::format("at most {} counter sets are allowed", kMaxCounterSets)});
  if (!counter_sets_.emplace(std::move(*set), std::move(*copies)).second)
    return refuse({Code::kAlreadyExists, "another counter set has this name"});
  return {};
}

Status SnapshotSink::add_use(cage_str device_id, cage_str set, const cage_quantity* counters, std::uint32_t count) {
  auto id = ruled_text(device_id, is_device_id, "device_id", "a device id");
  if (!id) return std::unexpected(id.error());
  const auto refuse = [&](const Error& error) -> Status {
    spoil(*id, "its use of counters is refused: " + error.message);
    return std::unexpected(error);
  };
  auto name = ruled_text(set, is_dns_label, "counter set name", kLabel);
  if (!name) return refuse(name.error());
  const auto items = items_of(counters, count, kMaxCounters, "counters");
  if (!items) return refuse(items.error());
  auto copies = copy_quantities(*items, is_dns_label, "counter", kLabel);
  if (!copies) return refuse(copies.error());
  if (uses_.size() == kMaxDevices && !uses_.contains(*id))
    return refuse({Code::kResourceExhausted, fmt::format("at most {} devices are allowed", kMaxDevices)});
  auto& uses = uses_[*id];
  if (uses.size() == kMaxCounterUses)
    return refuse({Code::kInvalidArgument, fmt::format("a device may use at most {} counter sets", kMaxCounterUses)});
  uses.push_back({std::move(*name), std::move(*copies)});
  return {};
}

Status SnapshotSink::add_policy(cage_str device_id, cage_str capacity, const cage_request_policy* given) {
  auto id = ruled_text(device_id, is_device_id, "device_id", "a device id");
  if (!id) return std::unexpected(id.error());
  const auto refuse = [&](const Error& error) -> Status {
    spoil(*id, error.message);
    return std::unexpected(error);
  };
  auto name = ruled_text(capacity, is_qualified_name, "capacity name", "the name of a capacity of the device");
  if (!name) return refuse(name.error());
  const auto adopted = adopt(given, "cage_request_policy");
  if (!adopted) return refuse(adopted.error());
  auto policy = copy_request_policy(*adopted);
  if (!policy) return refuse(within(policy.error(), "request policy of capacity '{}'", *name).error());
  if (policies_.size() == kMaxDevices && !policies_.contains(*id))
    return refuse({Code::kResourceExhausted, fmt::format("at most {} devices are allowed", kMaxDevices)});
  auto& policies = policies_[*id];
  if (policies.size() == kMaxAttributes)
    return refuse({Code::kInvalidArgument, fmt::format("a device has at most {} request policies", kMaxAttributes)});
  if (!policies.emplace(*name, std::move(*policy)).second)
    return refuse({Code::kAlreadyExists, fmt::format("capacity '{}' has a request policy already", *name)});
  return {};
}

Status SnapshotSink::set_binding(cage_str device_id, const cage_binding* given) {
  auto id = ruled_text(device_id, is_device_id, "device_id", "a device id");
  if (!id) return std::unexpected(id.error());
  const auto refuse = [&](const Error& error) -> Status {
    spoil(*id, error.message);
    return std::unexpected(error);
  };
  if (!can_bind_)
    return refuse({Code::kFailedPrecondition,
                   "it has binding conditions, which the module cannot make true: give the module " CAGE_EXT_BIND});
  const auto adopted = adopt(given, "cage_binding");
  if (!adopted) return refuse(adopted.error());
  auto binding = copy_binding(*adopted);
  if (!binding) return refuse(binding.error());
  if (binding->empty()) return refuse({Code::kInvalidArgument, "its binding has no conditions: leave it out"});
  if (const auto flaw = flaw_of(*binding)) return refuse({Code::kInvalidArgument, *flaw});
  if (bindings_.size() == kMaxDevices && !bindings_.contains(*id))
    return refuse({Code::kResourceExhausted, fmt::format("at most {} devices are allowed", kMaxDevices)});
  if (!bindings_.emplace(*id, std::move(*binding)).second)
    return refuse({Code::kAlreadyExists, "its binding conditions are set already"});
  return {};
}

// Runs at the end, when all sets and devices are known: the module may name them in any order.
Status SnapshotSink::add_not_offered(cage_str name, cage_str reason) {
  const auto hardware = text_of(name, kMaxNotOfferedName, "name");
  if (!hardware) return std::unexpected(hardware.error());
  const auto why = text_of(reason, kMaxNotOfferedReason, "reason");
  if (!why) return std::unexpected(why.error());
  if (hardware->empty() || why->empty())
    return fail(Code::kInvalidArgument, "hardware that is not offered has an empty {}",
                hardware->empty() ? "name" : "reason");
  if (reasons_.size() == kMaxNotOffered)
    return fail(Code::kResourceExhausted, "at most {} reasons are kept", kMaxNotOffered);
  reasons_.insert_or_assign(printable(*hardware, kMaxNotOfferedName), printable(*why, kMaxNotOfferedReason));
  return {};
}

void SnapshotSink::resolve_uses() {
  for (auto& [id, uses] : uses_) {
    const auto device = devices_.find(id);
    if (device == devices_.end()) continue;
    for (const CounterUse& use : uses) {
      const auto set = counter_sets_.find(use.set);
      std::string missing = set == counter_sets_.end() ? fmt::format("there is no counter set '{}'", use.set) : "";
      for (const auto& counter : use.counters)
        if (missing.empty() && !set->second.contains(counter.first))
          missing = fmt::format("counter set '{}' has no counter '{}'", use.set, counter.first);
      if (missing.empty()) continue;
      spoil(id, missing);
    }
    device->second.consumes = std::move(uses);
  }
}

// Runs at the end, too: the policy of a capacity may come before its device.
void SnapshotSink::resolve_policies() {
  for (auto& [id, policies] : policies_) {
    const auto found = devices_.find(id);
    if (found == devices_.end()) continue;
    Device& device = found->second;
    if (const auto flaw = flaw_of(policies, device.capacity, device.shared)) spoil(id, *flaw);
    device.policies = std::move(policies);
  }
}

void SnapshotSink::resolve_bindings() {
  for (auto& [id, binding] : bindings_)
    if (const auto device = devices_.find(id); device != devices_.end()) device->second.binding = std::move(binding);
}

Snapshot SnapshotSink::finish() {
  close();
  resolve_uses();
  resolve_policies();
  resolve_bindings();
  Snapshot snapshot;
  for (auto& [id, device] : devices_)  // in the order of ids, as a Snapshot requires
    if (!spoiled_.contains(id)) snapshot.devices.push_back(std::move(device));
  assign_names(snapshot.devices);
  snapshot.counter_sets = std::move(counter_sets_);
  snapshot.left_out = std::move(left_out_);
  snapshot.not_offered = std::move(reasons_);
  abandon();
  return snapshot;
}

}  // namespace cardcage
