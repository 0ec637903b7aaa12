#include "host/admin/messages.h"

#include <cardcage/module.h>
#include <unistd.h>

#include <algorithm>
#include <type_traits>

#include "host/admin/message_parts.h"
#include "host/core/bounded.h"
#include "host/core/version.h"
#include "host/view/node_conditions.h"

namespace cardcage {
namespace {

namespace wire = admin::v1;
namespace pb = google::protobuf;

void fill(wire::ClaimRef& message, const ClaimRef& ref) {
  message.set_namespace_(ref.name_space);
  message.set_name(ref.name);
  message.set_uid(ref.uid);
}

// A number of protobuf is a double, which holds an integer up to this one exactly.
constexpr std::int64_t kMaxExact = std::int64_t{1} << 53;

void fill(pb::Value& message, std::int64_t value) {
  if (value >= -kMaxExact && value <= kMaxExact)
    message.set_number_value(static_cast<double>(value));
  else
    message.set_string_value(fmt::to_string(value));
}
void fill(pb::Value& message, bool value) { message.set_bool_value(value); }
void fill(pb::Value& message, const std::string& value) { message.set_string_value(value); }
// Does nothing: options are never maps, and the parameters in a listing have no values.
void fill(pb::Value&, const TextMap&) {}
void fill(pb::Value& message, const SemVer& value) { message.set_string_value(value.text); }
template <class T>
void fill(pb::Value& message, const std::vector<T>& values) {
  auto* list = message.mutable_list_value();
  for (const T& value : values) fill(*list->add_values(), value);
}

std::string_view word(Isolation isolation) { return isolation == Isolation::kProcess ? "process" : "in-process"; }

void fill(wire::Option& message, const OptionDeclaration& declared) {
  message.set_name(declared.name);
  message.set_type(static_cast<wire::Option::Type>(declared.type));
  message.set_help(declared.help);
  message.set_default_text(declared.default_text);
  message.set_required(declared.required);
  message.set_secret(declared.secret);
  message.set_live(declared.live);
  message.set_class_only(declared.class_only);
  message.set_quantity(declared.quantity);
  message.set_objects(declared.objects);
  message.mutable_choices()->Add(declared.choices.begin(), declared.choices.end());
  message.set_min(static_cast<double>(declared.min));
  message.set_max(static_cast<double>(declared.max));
}

void fill(wire::ParamsSchema& message, const ParamsSchema& schema) {
  message.set_api_version(schema.api_version);
  message.set_kind(schema.kind);
  for (const auto& declared : schema.fields) fill(*message.add_fields(), declared);
  message.mutable_device_kinds()->Add(schema.device_kinds.begin(), schema.device_kinds.end());
  message.set_raw(schema.raw);
  message.set_is_default(schema.is_default);
}

void fill_value(wire::Option& message, const OptionValues& values) {
  const auto entry = values.entries.find(message.name());
  if (entry == values.entries.end()) return;
  message.set_given(entry->second.given);
  if (!message.secret())
    std::visit([&](const auto& value) { fill(*message.mutable_value(), value); }, entry->second.value);
}

void fill(wire::ModuleLine& message, const SaidLine& line) {
  message.set_allocated_time(new_timestamp(line.time));
  message.set_text(text(line.text));
}

void fill(wire::ModuleEnd& message, const ModuleEnd& end) {
  message.set_allocated_time(new_timestamp(end.time));
  message.set_how(text(end.how));
  for (const SaidLine& line : end.lines) fill(*message.add_lines(), line);
}

void fill(wire::Service& message, const ServiceReport& report) {
  message.set_module(text(report.module));
  message.set_claim_uid(text(report.claim_uid));
  message.set_name(text(report.name));
  message.set_state(text(report.state));
  message.set_restarts(report.restarts);
}

template <class T>
void fill(pb::ListValue& message, const std::vector<T>& items) {
  for (const T& item : items) message.add_values()->set_string_value(text(fmt::format("{}", item)));
}

void fill(wire::Permissions& message, const ModulePermissions& permissions) {
  message.set_confined_by(text(permissions.confined_by));
  for (const std::string& program : permissions.programs) message.add_programs(text(program));
  for (const std::string& pattern : permissions.writes) message.add_writes(text(pattern));
  const AllowedEdits& edits = permissions.edits;
  if (edits.device_nodes) fill(*message.mutable_device_nodes(), *edits.device_nodes);
  if (edits.mounts) fill(*message.mutable_mounts(), *edits.mounts);
  if (edits.hooks) fill(*message.mutable_hooks(), *edits.hooks);
  if (edits.net_devices) fill(*message.mutable_net_devices(), *edits.net_devices);
  if (edits.groups) fill(*message.mutable_groups(), *edits.groups);
  if (edits.env) fill(*message.mutable_env(), *edits.env);
}

void fill(wire::Module& message, const ModuleReport& report) {
  message.set_name(report.name);
  message.set_path(text(report.path.native()));
  message.set_isolation(std::string(word(report.isolation)));
  fill(*message.mutable_permissions(), report.permissions);
  fill(*message.mutable_state(), report.state);
  message.set_devices(report.devices);
  message.set_restarts(report.restarts);
  message.set_allocated_since(new_timestamp(report.since));
  message.set_recent_failures(report.recent_failures);
  for (const SaidLine& line : report.lines) fill(*message.add_lines(), line);
  if (report.last_end) fill(*message.mutable_last_end(), *report.last_end);
  for (const auto& [name, value] : report.labels) (*message.mutable_labels())[name] = value;
  for (const auto& [name, reason] : report.not_offered) (*message.mutable_not_offered())[text(name)] = text(reason);
  for (const ServiceReport& service : report.services) fill(*message.add_services(), service);
  message.mutable_drivers()->Add(report.drivers.begin(), report.drivers.end());
  if (!report.identity) return;
  const ModuleIdentity& identity = *report.identity;
  for (const MetricDeclaration& metric : identity.metrics)
    message.add_metrics(fmt::format("{}{}", metric_prefix(metric.name), metric.name));
  message.set_id(identity.id);
  message.set_version(identity.version);
  message.set_vendor(identity.vendor);
  message.set_abi(identity.abi.to_string());
  message.set_sha256(identity.sha256);
  for (const auto& declared : identity.options) {
    auto* option = message.add_options();
    fill(*option, declared);
    fill_value(*option, report.options);
  }
  for (const auto& schema : identity.schemas) fill(*message.add_params(), schema);
}

void fill(wire::Driver& message, const DriverReport& report) {
  message.set_name(report.name);
  message.set_module(report.module);
  message.set_pool(report.pool);
  message.set_socket(text(report.socket.native()));
  fill(*message.mutable_registration(), report.registration);
  fill(*message.mutable_publication(), report.publication);
  message.set_generation(static_cast<double>(report.generation));
  message.set_slices(report.slices);
  message.set_devices(report.devices);
}

void fill(wire::Resource& message, const ResourceReport& report) {
  message.set_name(report.name);
  message.set_module(report.module);
  message.set_socket(text(report.socket.native()));
  if (report.way) message.set_way(*report.way == RegistrationWay::kRegistry ? "registry" : "kubelet");
  fill(*message.mutable_registration(), report.registration);
  message.set_devices(report.devices);
  message.set_healthy(report.healthy);
  message.set_handed_out(report.handed_out);
}

template <class Map>
void fill_attributes(Map& message, const Attributes& attributes) {
  for (const auto& [name, attribute] : attributes)
    std::visit([&, &key = name](const auto& value) { fill(message[key], value); }, attribute);
}

void fill(wire::RequestPolicy& message, const RequestPolicy& policy) {
  if (policy.default_amount) message.set_default_amount(policy.default_amount->to_string());
  for (const Quantity& value : policy.values) message.add_values(value.to_string());
  if (policy.min) message.set_min(policy.min->to_string());
  if (policy.max) message.set_max(policy.max->to_string());
  if (policy.step) message.set_step(policy.step->to_string());
}

void fill(wire::Binding& message, const Binding& binding) {
  message.mutable_conditions()->Add(binding.conditions.begin(), binding.conditions.end());
  message.mutable_failures()->Add(binding.failures.begin(), binding.failures.end());
  message.set_to_node(binding.to_node);
}

void fill(wire::Device& message, const DeviceReport& report) {
  const Device& device = report.device;
  message.set_name(device.name);
  message.set_id(device.id);
  message.set_module(report.module);
  message.set_kind(device.kind);
  message.set_driver(report.driver);
  message.set_pool(report.pool);
  message.set_parent(device.parent_id);
  message.set_pci_bus_id(device.pci_bus_id);
  message.mutable_numa_nodes()->Add(device.numa_nodes.begin(), device.numa_nodes.end());
  message.set_shared(device.shared);
  fill_health(message, report);
  fill_attributes(*message.mutable_attributes(), device.attributes);
  for (const auto& [name, quantity] : device.capacity) (*message.mutable_capacity())[name] = quantity.to_string();
  for (const auto& [name, policy] : device.policies) fill((*message.mutable_request_policies())[name], policy);
  if (!device.binding.empty()) fill(*message.mutable_binding(), device.binding);
  for (const ClaimRef& holder : report.holders) fill(*message.add_holders(), holder);
}

void fill(wire::Holder& message, const Holder& holder) {
  message.set_id(holder.id);
  message.set_namespace_(holder.name_space);
  message.set_pod(holder.pod);
  message.set_container(holder.container);
  message.set_allocated_since(new_timestamp(holder.since));
}

void fill(wire::Claim& message, const ClaimReport& report) {
  const ClaimRecord& record = *report.record;
  fill(*message.mutable_ref(), record.ref);
  message.set_driver(record.driver);
  for (const ModulePart& part : record.parts) message.add_modules(part.module);
  message.set_state(report.earlier_boot ? "earlier-boot" : std::string(to_string(record.phase)));
  message.set_allocated_prepared(new_timestamp(record.prepared));
  for (const PreparedDevice& prepared : prepared_devices(record)) {
    auto* device = message.add_devices();
    device->mutable_requests()->Add(prepared.request_names.begin(), prepared.request_names.end());
    device->set_pool(prepared.pool);
    device->set_device(prepared.device);
    device->mutable_cdi_device_ids()->Add(prepared.cdi_device_ids.begin(), prepared.cdi_device_ids.end());
    device->set_share_id(prepared.share_id);
  }
  for (const Holder& holder : holders_of(record)) fill(*message.add_holders(), holder);
  message.set_progress(text(report.progress));
  for (const ServiceReport& service : report.services) fill(*message.add_services(), service);
}

void fill(wire::CatalogueEntry& message, const CatalogueEntry& entry) {
  message.set_kind(entry.kind);
  message.set_name(entry.name);
  message.set_state(entry.refused ? "refused" : "usable");
  message.set_detail(entry.detail);
  fill_attributes(*message.mutable_attributes(), entry.attributes);
}

void fill(wire::HistoryEntry& message, const HistoryEntry& entry) {
  fill(*message.mutable_ref(), entry.ref);
  message.set_driver(entry.driver);
  message.set_module(entry.module);
  message.set_request(entry.request);
  message.set_pool(entry.pool);
  message.set_device(entry.device);
  message.set_share_id(entry.share_id);
  message.set_allocated_prepared(new_timestamp(entry.prepared));
  message.set_allocated_released(new_timestamp(entry.released));
  message.set_held_seconds(seconds(entry.released - entry.prepared));
}

void fill_config(wire::Config& message, const StatusReport& report) {
  const ConfigState& state = report.config;
  message.set_file(text(report.config_file.native()));
  message.set_sha256(report.config_sha256);
  fill(*message.mutable_state(), config_condition(state, report.refused_by));
  message.set_allocated_applied(new_timestamp(state.applied));
  message.set_reloads(static_cast<std::uint32_t>(state.reloads));
  message.set_failures(static_cast<std::uint32_t>(state.failures));
  for (const auto& error : state.errors) message.add_errors(text(error));
  message.mutable_restart()->Add(state.restart.begin(), state.restart.end());
}

}  // namespace

void fill(wire::GetStatusResponse& message, const StatusReport& report) {
  message.set_version(std::string(version()));
  message.set_node(report.node);
  message.set_pid(::getpid());
  message.set_allocated_started(new_timestamp(report.started));
  message.set_uptime_seconds(static_cast<std::uint32_t>(seconds(report.uptime)));
  message.set_restarts(report.restarts.count);
  message.set_last_end(report.restarts.last_end);
  fill_config(*message.mutable_config(), report);
  fill(*message.mutable_api_server(), report.api_server);
  fill(*message.mutable_ledger(), report.ledger);
  message.set_live_claims(static_cast<std::uint32_t>(report.live_claims));
  for (const auto& driver : report.drivers) fill(*message.add_drivers(), driver);
  for (const auto& resource : report.resources) fill(*message.add_resources(), resource);
  fill(*message.mutable_pods_api(), report.pods_api);
  fill(*message.mutable_pod_resources(), report.pod_resources);
  fill(*message.mutable_node_labels(), report.node_labels);
  fill(*message.mutable_container_runtime(), report.runtime);
  fill(*message.mutable_claim_status(), report.claim_status);
  fill(*message.mutable_state_dir(), disk_condition(report.state_disk));
  for (const auto& warning : report.warnings) message.add_warnings(text(warning));
}

void fill(wire::ListModulesResponse& message, const std::vector<ModuleReport>& reports) {
  for (const auto& report : reports) fill(*message.add_modules(), report);
}

void fill(wire::ListDevicesResponse& message, const std::vector<DeviceReport>& reports) {
  for (const auto& report : reports) fill(*message.add_devices(), report);
}

void fill(wire::ListClaimsResponse& message, const std::vector<ClaimReport>& reports) {
  for (const ClaimReport& report : reports) fill(*message.add_claims(), report);
}

void fill(wire::ForgetClaimResponse& message, const ForgetReport& report) {
  for (const ClaimReport& claim : report.claims) fill(*message.add_claims(), claim);
  for (const auto& problem : report.problems) message.add_problems(text(problem));
}

void fill(wire::ListHistoryResponse& message, const std::vector<HistoryEntry>& entries) {
  for (const auto& entry : entries) fill(*message.add_entries(), entry);
}

void fill(wire::ListCatalogueResponse& message, const std::vector<CatalogueReport>& reports) {
  for (const CatalogueReport& report : reports) {
    wire::ModuleCatalogue& module = *message.add_modules();
    module.set_module(report.module);
    for (const CatalogueEntry& entry : report.catalogue.entries) fill(*module.add_entries(), entry);
    module.set_problem(text(report.problem));
    module.set_left_out(static_cast<std::uint32_t>(report.catalogue.left_out.count));
    module.set_first_left_out(text(report.catalogue.left_out.first));
  }
}

void fill(wire::ReloadResponse& message, const ReloadReport& report) {
  message.set_file(text(report.file.native()));
  message.set_applied(report.applied);
  for (const auto& error : report.errors) message.add_errors(text(error));
  for (const auto& [what, outcome] : report.steps) {
    auto* step = message.add_steps();
    step->set_subject(what.subject);
    step->set_action(std::string(to_string(what.action)));
    step->set_detail(text(what.detail));
    if (outcome) fill(*step->mutable_outcome(), *outcome);
  }
}

void fill(wire::ModuleCommandResponse& message, const Condition& state) { fill(*message.mutable_state(), state); }

ModuleCommand module_command(ModuleVerb verb, const wire::ModuleCommandRequest& request) {
  return {.verb = verb,
          .module = request.module(),
          .device = request.device(),
          .by = operator_name(request.by()),
          .reason = request.reason(),
          .limit = command_limit(request.limit_ms())};
}

HistoryQuery history_query(const wire::ListHistoryRequest& request) {
  return {.claim = request.claim(),
          .driver = request.driver(),
          .device = request.device(),
          .since = bounded_wall_time(request.since()),
          .limit = history_limit(request.limit())};
}

}  // namespace cardcage
