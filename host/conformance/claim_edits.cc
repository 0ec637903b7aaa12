#include "host/conformance/claim_edits.h"

#include <fmt/ranges.h>

#include <functional>

namespace cardcage {
namespace {

// Calls `visit` with the name and the member of each kind of edit.
template <class Visit>
void for_each_kind(Visit visit) {
  visit("variables", &Edits::env);
  visit("device nodes", &Edits::device_nodes);
  visit("mounts", &Edits::mounts);
  visit("hooks", &Edits::hooks);
  visit("joined variables", &Edits::env_lists);
  visit("network devices", &Edits::net_devices);
  visit("groups", &Edits::additional_gids);
  visit("limits of locked memory", &Edits::locked_memory);
  visit("library folders", &Edits::ld_paths);
  visit("texts below /proc", &Edits::proc_texts);
}

}  // namespace

std::string summary_of(const PreparedEdits& edits) {
  std::vector<std::string> parts;
  for_each_kind([&](const char* name, auto kind) {
    std::size_t count = std::invoke(kind, edits.claim).size();
    for (const Edits& allocation : edits.allocations) count += std::invoke(kind, allocation).size();
    if (count > 0) parts.push_back(fmt::format("{}: {}", name, count));
  });
  if (!edits.state.empty()) parts.push_back(fmt::format("bytes of state: {}", edits.state.size()));
  if (parts.empty()) return "no edits";
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string edit_changes(const PreparedEdits& before, const PreparedEdits& after) {
  std::vector<std::string> kinds;
  for_each_kind([&](const char* name, auto kind) {
    bool same = std::invoke(kind, before.claim) == std::invoke(kind, after.claim) &&
                before.allocations.size() == after.allocations.size();
    for (std::size_t i = 0; same && i < before.allocations.size(); ++i)
      same = std::invoke(kind, before.allocations[i]) == std::invoke(kind, after.allocations[i]);
    if (!same) kinds.emplace_back(name);
  });
  if (kinds.empty()) return "";
  return fmt::format("the container gets other {}", fmt::join(kinds, ", "));
}

}  // namespace cardcage
