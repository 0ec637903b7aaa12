// Collects the edits that prepare() requests: copies and checks each, and keeps the first refusal.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cardcage/module.h"
#include "host/model/module.h"
#include "host/sinks/asks.h"
#include "host/sinks/sink_guard.h"
#include "host/sinks/statement_copy.h"

namespace cardcage {

constexpr std::size_t kMaxEdits = 4096;          // per claim, of all kinds
constexpr std::size_t kMaxEditsText = 1u << 20;  // bytes per claim
constexpr std::size_t kMaxState = 64u << 10;     // bytes of the blob, and of the journal

// [module thread] between open() and finish(); its C functions refuse other threads and other times.
class EditsSink : public SinkGuard {
 public:
  // `asks` outlives the sink.
  EditsSink(const std::string& module, Asks& asks);

  // Opens the sink for a claim of `allocations` devices, prepared by the call `number`.
  cage_edits* open(std::uint64_t number, std::size_t allocations);
  // The collected edits, or the first refusal even if the module ignored it.
  Result<PreparedEdits> finish();

 private:
  Result<Edits*> edits_of(std::int32_t allocation);
  Status charge(std::size_t text);
  // `List` is the member of Edits that gets the variable.
  template <auto List>
  Status add_env(std::int32_t allocation, cage_str name, cage_str value);
  Status add_device_node(std::int32_t allocation, const cage_device_node* given);
  Status add_mount(std::int32_t allocation, const cage_mount* given);
  Status add_hook(std::int32_t allocation, const cage_hook* given);
  Status add_net_device(std::int32_t allocation, const cage_net_device* given);
  Status add_group(std::int32_t allocation, std::uint32_t gid);
  Status add_locked_memory(std::int32_t allocation, std::uint64_t bytes);
  Status add_ld_path(std::int32_t allocation, cage_str folder, cage_str newer_than);
  Status add_proc_text(std::int32_t allocation, cage_str path, cage_str text);
  Status set_state(cage_bytes blob);
  Status write_journal(cage_bytes blob);
  Result<DeviceStatement*> statement_of(std::int32_t allocation);
  Status state_condition(std::int32_t allocation, const cage_condition* given);
  Status state_data(std::int32_t allocation, cage_str json);
  Status state_network(std::int32_t allocation, const cage_network_data* given);
  Status describe(std::int32_t allocation, const cage_attr* attributes, std::uint32_t count);
  template <class Given, class Copy>
  Status add(std::int32_t allocation, const Given* given, std::string_view type, Result<Copy> (*copy)(const Given&),
             std::vector<Copy> Edits::* list);
  template <class Copy>
  Status add_copy(std::int32_t allocation, Result<Copy> copied, std::string_view type, std::vector<Copy> Edits::* list);

  Asks& asks_;
  cage_edits table_{};
  cage_edits_journal journal_{};
  cage_edits_status status_{};
  cage_edits_metadata metadata_{};
  std::uint64_t number_ = 0;
  PreparedEdits collected_;
  std::size_t count_ = 0, text_ = 0;
};

}  // namespace cardcage
