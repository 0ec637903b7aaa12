// Converts claims and the container edits that prepare returns.
#include "host/wire/messages.h"

namespace cardcage {

static void write(const DeviceNode& from, wire::DeviceNode& to) {
  to.set_path(from.path);
  to.set_host_path(from.host_path);
  to.set_type(from.type);
  to.set_permissions(from.permissions);
  if (from.major) to.set_major(*from.major);
  if (from.minor) to.set_minor(*from.minor);
  if (from.file_mode) to.set_file_mode(*from.file_mode);
  if (from.uid) to.set_uid(*from.uid);
  if (from.gid) to.set_gid(*from.gid);
}

static DeviceNode read(const wire::DeviceNode& from) {
  DeviceNode node{.path = from.path(),
                  .host_path = from.host_path(),
                  .type = from.type(),
                  .permissions = from.permissions(),
                  .major = {},
                  .minor = {},
                  .file_mode = {},
                  .uid = {},
                  .gid = {}};
  if (from.has_major()) node.major = from.major();
  if (from.has_minor()) node.minor = from.minor();
  if (from.has_file_mode()) node.file_mode = from.file_mode();
  if (from.has_uid()) node.uid = from.uid();
  if (from.has_gid()) node.gid = from.gid();
  return node;
}

static void write(const Hook& from, wire::Hook& to) {
  to.set_name(from.name);
  to.set_path(from.path);
  write(from.args, *to.mutable_args());
  write(from.env, *to.mutable_env());
  if (from.timeout_seconds) to.set_timeout_seconds(*from.timeout_seconds);
}

static Hook read(const wire::Hook& from) {
  Hook hook{.name = from.name(),
            .path = from.path(),
            .args = read(from.args()),
            .env = read(from.env()),
            .timeout_seconds = {}};
  if (from.has_timeout_seconds()) hook.timeout_seconds = from.timeout_seconds();
  return hook;
}

static void write(const EnvVar& from, wire::EnvVar& to) {
  to.set_name(from.name);
  to.set_value(from.value);
}

static void write(const Edits& from, wire::Edits& to) {
  for (const EnvVar& variable : from.env) write(variable, *to.add_env());
  for (const EnvVar& variable : from.env_lists) write(variable, *to.add_env_lists());
  for (const DeviceNode& node : from.device_nodes) write(node, *to.add_device_nodes());
  for (const Mount& mount : from.mounts) {
    wire::Mount& out = *to.add_mounts();
    out.set_host_path(mount.host_path);
    out.set_container_path(mount.container_path);
    out.set_type(mount.type);
    write(mount.options, *out.mutable_options());
  }
  for (const Hook& hook : from.hooks) write(hook, *to.add_hooks());
  for (const NetDevice& device : from.net_devices) {
    wire::NetDevice& out = *to.add_net_devices();
    out.set_host_interface(device.host_interface);
    out.set_name(device.name);
  }
  to.mutable_additional_gids()->Add(from.additional_gids.begin(), from.additional_gids.end());
  to.mutable_locked_memory()->Add(from.locked_memory.begin(), from.locked_memory.end());
  for (const LdPath& one : from.ld_paths) {
    wire::LdPath& out = *to.add_ld_paths();
    out.set_path(one.path);
    out.set_newer_than(one.newer_than);
  }
  for (const ProcText& one : from.proc_texts) {
    wire::ProcText& out = *to.add_proc_texts();
    out.set_path(one.path);
    out.set_text(one.text);
  }
}

static Edits read(const wire::Edits& from) {
  Edits edits;
  for (const wire::EnvVar& in : from.env()) edits.env.push_back({in.name(), in.value()});
  for (const wire::EnvVar& in : from.env_lists()) edits.env_lists.push_back({in.name(), in.value()});
  for (const wire::DeviceNode& in : from.device_nodes()) edits.device_nodes.push_back(read(in));
  for (const wire::Mount& in : from.mounts())
    edits.mounts.push_back({in.host_path(), in.container_path(), in.type(), read(in.options())});
  for (const wire::Hook& in : from.hooks()) edits.hooks.push_back(read(in));
  for (const wire::NetDevice& in : from.net_devices()) edits.net_devices.push_back({in.host_interface(), in.name()});
  edits.additional_gids.assign(from.additional_gids().begin(), from.additional_gids().end());
  edits.locked_memory.assign(from.locked_memory().begin(), from.locked_memory().end());
  for (const wire::LdPath& in : from.ld_paths()) edits.ld_paths.push_back({in.path(), in.newer_than()});
  for (const wire::ProcText& in : from.proc_texts()) edits.proc_texts.push_back({in.path(), in.text()});
  return edits;
}

void write(const ModuleClaim& from, wire::Claim& to) {
  to.set_name_space(from.ref.name_space);
  to.set_name(from.ref.name);
  to.set_uid(from.ref.uid);
  for (const ModuleAllocation& allocation : from.allocations) {
    wire::Allocation& out = *to.add_allocations();
    out.set_device_id(allocation.device_id);
    out.set_request(allocation.request);
    out.set_share_id(allocation.share_id);
    out.set_admin_access(allocation.admin_access);
    write(allocation.consumed_capacity, *out.mutable_consumed_capacity());
    write(allocation.values, *out.mutable_values());
    out.set_params_kind(allocation.values.kind);
  }
  for (const ModuleParams& params : from.params) {
    wire::Params& out = *to.add_params();
    out.set_source(static_cast<std::uint32_t>(params.source));
    write(params.requests, *out.mutable_requests());
    out.set_json(params.json);
  }
  to.set_state(from.state);
  to.set_state_version(from.state_version);
  to.set_journal(from.journal);
  to.set_other_boot(from.other_boot);
  to.set_resource(from.resource);
}

ModuleClaim read(const wire::Claim& from) {
  ModuleClaim claim;
  claim.ref = {from.name_space(), from.name(), from.uid()};
  for (const wire::Allocation& in : from.allocations()) {
    claim.allocations.push_back({.device_id = in.device_id(),
                                 .request = in.request(),
                                 .share_id = in.share_id(),
                                 .admin_access = in.admin_access(),
                                 .consumed_capacity = read(in.consumed_capacity()),
                                 .values = read(in.values())});
    claim.allocations.back().values.kind = in.params_kind();
  }
  for (const wire::Params& in : from.params())
    claim.params.push_back({.source = in.source() == 0 ? ConfigSource::kClass : ConfigSource::kClaim,
                            .requests = read(in.requests()),
                            .json = in.json()});
  claim.state = from.state();
  claim.state_version = from.state_version();
  claim.journal = from.journal();
  claim.other_boot = from.other_boot();
  claim.resource = from.resource();
  return claim;
}

void write(const PreparedEdits& from, wire::PreparedEdits& to) {
  write(from.claim, *to.mutable_claim());
  for (const Edits& edits : from.allocations) write(edits, *to.add_allocations());
  to.set_state(from.state);
  to.set_state_version(from.state_version);
  for (const DeviceStatement& statement : from.statements) write(statement, *to.add_statements());
}

PreparedEdits read(const wire::PreparedEdits& from) {
  PreparedEdits edits;
  edits.claim = read(from.claim());
  for (const wire::Edits& in : from.allocations()) edits.allocations.push_back(read(in));
  edits.state = from.state();
  edits.state_version = from.state_version();
  for (const wire::DeviceStatement& in : from.statements()) edits.statements.push_back(read(in));
  return edits;
}

}  // namespace cardcage
