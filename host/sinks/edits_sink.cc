#include "host/sinks/edits_sink.h"

#include <algorithm>

#include "host/model/combined_edits.h"
#include "host/sinks/borrowed.h"
#include "host/sinks/device_copy.h"
#include "host/sinks/edits_copy.h"

namespace cardcage {
namespace {

std::size_t text_in(const std::vector<std::string>& texts) {
  std::size_t size = 0;
  for (const std::string& text : texts) size += text.size();
  return size;
}
std::size_t text_in(const DeviceNode& node) { return node.path.size() + node.host_path.size(); }
std::size_t text_in(const Mount& mount) {
  return mount.host_path.size() + mount.container_path.size() + text_in(mount.options);
}
std::size_t text_in(const Hook& hook) { return hook.path.size() + text_in(hook.args) + text_in(hook.env); }
std::size_t text_in(const NetDevice& device) { return device.host_interface.size() + device.name.size(); }

std::size_t text_in(const LdPath& folder) { return folder.path.size() + folder.newer_than.size(); }
std::size_t text_in(const ProcText& proc) { return proc.path.size() + proc.text.size(); }

std::size_t text_in(const DeviceCondition& condition) {
  return condition.type.size() + condition.reason.size() + condition.message.size();
}

// Two different edits of one container must not have the same place.
template <class Copy>
Status check_twice(const std::vector<Copy>& list, const Copy& copy, std::string_view type) {
  if constexpr (requires { place_of(copy); })
    for (const Copy& other : list)
      if (place_of(other) == place_of(copy) && other != copy)
        return fail(Code::kInvalidArgument, "'{}' is the target of two different {}", place_of(copy), type);
  return {};
}

}  // namespace

template <class Given, class Copy>
Status EditsSink::add(std::int32_t allocation, const Given* given, std::string_view type,
                      Result<Copy> (*copy)(const Given&), std::vector<Copy> Edits::* list) {
  const auto adopted = adopt(given, type);
  if (!adopted) return std::unexpected(adopted.error());
  return add_copy(allocation, copy(*adopted), type, list);
}

template <class Copy>
Status EditsSink::add_copy(std::int32_t allocation, Result<Copy> copied, std::string_view type,
                           std::vector<Copy> Edits::* list) {
  const auto edits = edits_of(allocation);
  if (!edits) return std::unexpected(edits.error());
  if (!copied) return std::unexpected(copied.error());
  std::vector<Copy>& copies = (*edits)->*list;
  if (auto checked = check_twice(copies, *copied, type); !checked) return checked;
  if (auto charged = charge(text_in(*copied)); !charged) return charged;
  if (std::ranges::find(copies, *copied) == copies.end()) copies.push_back(std::move(*copied));
  return {};
}

EditsSink::EditsSink(const std::string& module, Asks& asks) : SinkGuard(module, "cage_edits"), asks_(asks) {
  table_.struct_size = sizeof table_;
  table_.host_data = this;
  table_.env = call<&EditsSink::add_env<&Edits::env>>;
  table_.device_node = call<&EditsSink::add_device_node>;
  table_.mount = call<&EditsSink::add_mount>;
  table_.hook = call<&EditsSink::add_hook>;
  table_.net_device = call<&EditsSink::add_net_device>;
  table_.group = call<&EditsSink::add_group>;
  table_.locked_memory = call<&EditsSink::add_locked_memory>;
  table_.ld_path = call<&EditsSink::add_ld_path>;
  table_.proc_text = call<&EditsSink::add_proc_text>;
  table_.state = call<&EditsSink::set_state>;
  table_.env_list = call<&EditsSink::add_env<&Edits::env_lists>>;
  table_.extension = [](cage_edits* table, const char* id) -> const void* {
    EditsSink& self = *static_cast<EditsSink*>(table->host_data);
    const std::string_view name = id != nullptr ? id : "";
    if (name == CAGE_EDITS_JOURNAL) return &self.journal_;
    if (name == CAGE_EDITS_STATUS) return &self.status_;
    if (name == CAGE_EDITS_METADATA) return &self.metadata_;
    return nullptr;
  };
  journal_.struct_size = sizeof journal_;
  journal_.write = call<&EditsSink::write_journal>;
  status_.struct_size = sizeof status_;
  status_.condition = call<&EditsSink::state_condition>;
  status_.data = call<&EditsSink::state_data>;
  status_.network = call<&EditsSink::state_network>;
  metadata_.struct_size = sizeof metadata_;
  metadata_.describe = call<&EditsSink::describe>;
}

cage_edits* EditsSink::open(std::uint64_t number, std::size_t allocations) {
  number_ = number;
  collected_ = {};
  collected_.allocations.resize(allocations);
  count_ = text_ = 0;
  SinkGuard::open();
  return &table_;
}

Result<PreparedEdits> EditsSink::finish() {
  close();
  if (refusal()) return std::unexpected(*refusal());
  return std::move(collected_);
}

Result<Edits*> EditsSink::edits_of(std::int32_t allocation) {
  if (allocation == -1) return &collected_.claim;
  if (allocation < 0 || static_cast<std::size_t>(allocation) >= collected_.allocations.size())
    return fail(Code::kOutOfRange, "allocation {} is not in 0 to {}, or -1 for the whole claim", allocation,
                static_cast<std::int64_t>(collected_.allocations.size()) - 1);
  return &collected_.allocations[static_cast<std::size_t>(allocation)];
}

Status EditsSink::charge(std::size_t text) {
  ++count_;
  text_ += text;
  if (count_ > kMaxEdits || text_ > kMaxEditsText)
    return fail(Code::kResourceExhausted, "a claim may have at most {} edits and {} KiB of text", kMaxEdits,
                kMaxEditsText >> 10);
  return {};
}

template <auto List>
Status EditsSink::add_env(std::int32_t allocation, cage_str name, cage_str value) {
  const auto edits = edits_of(allocation);
  if (!edits) return std::unexpected(edits.error());
  auto copy = copy_env(name, value);
  if (!copy) return std::unexpected(copy.error());
  for (const auto* known : {&(*edits)->env, &(*edits)->env_lists})
    if (std::ranges::find(*known, copy->name, &EnvVar::name) != known->end())
      return fail(Code::kInvalidArgument, "environment variable '{}' is set twice", copy->name);
  if (auto charged = charge(copy->name.size() + copy->value.size()); !charged) return charged;
  ((*edits)->*List).push_back(std::move(*copy));
  return {};
}

Status EditsSink::add_device_node(std::int32_t allocation, const cage_device_node* given) {
  return add(allocation, given, "cage_device_node", copy_device_node, &Edits::device_nodes);
}

Status EditsSink::add_mount(std::int32_t allocation, const cage_mount* given) {
  return add(allocation, given, "cage_mount", copy_mount, &Edits::mounts);
}

Status EditsSink::add_hook(std::int32_t allocation, const cage_hook* given) {
  return add(allocation, given, "cage_hook", copy_hook, &Edits::hooks);
}

Status EditsSink::add_net_device(std::int32_t allocation, const cage_net_device* given) {
  return add(allocation, given, "cage_net_device", copy_net_device, &Edits::net_devices);
}

Status EditsSink::add_group(std::int32_t allocation, std::uint32_t gid) {
  const auto edits = edits_of(allocation);
  if (!edits) return std::unexpected(edits.error());
  if (gid == 0 || gid == 0xffffffff)
    return fail(Code::kInvalidArgument, "group {} may not be given to a container", gid);
  if (auto charged = charge(0); !charged) return charged;
  auto& groups = (*edits)->additional_gids;
  if (std::ranges::find(groups, gid) == groups.end()) groups.push_back(gid);
  return {};
}

Status EditsSink::add_locked_memory(std::int32_t allocation, std::uint64_t bytes) {
  const auto edits = edits_of(allocation);
  if (!edits) return std::unexpected(edits.error());
  if (bytes == 0) return fail(Code::kInvalidArgument, "a container cannot be told to lock at most 0 bytes");
  if (auto charged = charge(0); !charged) return charged;
  (*edits)->locked_memory = {std::max(bytes, (*edits)->locked_memory.empty() ? 0 : (*edits)->locked_memory.front())};
  return {};
}

Status EditsSink::add_ld_path(std::int32_t allocation, cage_str folder, cage_str newer_than) {
  return add_copy(allocation, copy_ld_path(folder, newer_than), "folders of libraries", &Edits::ld_paths);
}

Status EditsSink::add_proc_text(std::int32_t allocation, cage_str path, cage_str text) {
  return add_copy(allocation, copy_proc_text(path, text), "texts", &Edits::proc_texts);
}

Status EditsSink::set_state(cage_bytes blob) {
  const auto state = text_of(blob, kMaxState, "state [R7]");
  if (!state) return std::unexpected(state.error());
  collected_.state = *state;
  return {};
}

Status EditsSink::write_journal(cage_bytes blob) {
  const auto bytes = text_of(blob, kMaxState, "journal [R7]");
  if (!bytes) return std::unexpected(bytes.error());
  const auto kept = asks_.ask(number_, JournalAsk(std::string(*bytes)));
  if (!kept) return within(kept.error(), "its journal is not kept");
  return {};
}

Result<DeviceStatement*> EditsSink::statement_of(std::int32_t allocation) {
  if (allocation == -1)
    return fail(Code::kOutOfRange, "nothing can be stated of the whole claim: state it of each device");
  if (const auto known = edits_of(allocation); !known) return std::unexpected(known.error());
  collected_.statements.resize(collected_.allocations.size());
  return &collected_.statements[static_cast<std::size_t>(allocation)];
}

Status EditsSink::state_condition(std::int32_t allocation, const cage_condition* given) {
  const auto statement = statement_of(allocation);
  if (!statement) return std::unexpected(statement.error());
  auto condition = copy_condition(given);
  if (!condition) return std::unexpected(condition.error());
  if (auto charged = charge(text_in(*condition)); !charged) return charged;
  return replace_condition((*statement)->conditions, std::move(*condition));
}

Status EditsSink::state_data(std::int32_t allocation, cage_str json) {
  const auto statement = statement_of(allocation);
  if (!statement) return std::unexpected(statement.error());
  auto data = copy_status_data(json);
  if (!data) return std::unexpected(data.error());
  if (auto charged = charge(data->size()); !charged) return charged;
  (*statement)->data = std::move(*data);
  return {};
}

Status EditsSink::state_network(std::int32_t allocation, const cage_network_data* given) {
  const auto statement = statement_of(allocation);
  if (!statement) return std::unexpected(statement.error());
  auto network = copy_network_data(given);
  if (!network) return std::unexpected(network.error());
  if (auto charged = charge(text_in(network->ips) + network->interface_name.size() + network->hardware_address.size());
      !charged)
    return charged;
  (*statement)->network = std::move(*network);
  return {};
}

Status EditsSink::describe(std::int32_t allocation, const cage_attr* attributes, std::uint32_t count) {
  const auto statement = statement_of(allocation);
  if (!statement) return std::unexpected(statement.error());
  auto copy = copy_attributes(attributes, count);
  if (!copy) return std::unexpected(copy.error());
  if (auto charged = charge(size_of(*copy)); !charged) return charged;
  (*statement)->metadata = std::move(*copy);
  return {};
}

}  // namespace cardcage
