#include "host/hook/root_changes.h"

#include <string_view>

namespace cardcage {

// Each is followed by one or two arguments.
static constexpr std::string_view kLdPath = "ld-path", kNewerThan = "newer-than", kProcText = "proc-text";

std::vector<std::string> to_arguments(const RootChanges& changes) {
  std::vector<std::string> arguments;
  const auto add = [&](auto... texts) { (arguments.emplace_back(texts), ...); };
  for (const LdPath& one : changes.ld_paths) {
    if (one.newer_than.empty())
      add(kLdPath, one.path);
    else
      add(kNewerThan, one.newer_than, one.path);
  }
  for (const ProcText& one : changes.proc_texts) add(kProcText, one.path, one.text);
  return arguments;
}

Result<RootChanges> root_changes_from(std::span<const char* const> arguments) {
  RootChanges changes;
  for (std::size_t i = 0; i < arguments.size();) {
    const std::string_view word = arguments[i];
    const std::size_t operands = word == kLdPath ? 1 : word == kNewerThan || word == kProcText ? 2 : 0;
    if (operands == 0 || arguments.size() - i <= operands)
      return fail(Code::kInvalidArgument,
                  "'{}' is unknown or lacks arguments; the changes are ld-path FOLDER, newer-than LIBRARY FOLDER and "
                  "proc-text PATH TEXT",
                  word);
    if (word == kLdPath) changes.ld_paths.push_back({.path = arguments[i + 1], .newer_than = {}});
    if (word == kNewerThan) changes.ld_paths.push_back({.path = arguments[i + 2], .newer_than = arguments[i + 1]});
    if (word == kProcText) changes.proc_texts.push_back({.path = arguments[i + 1], .text = arguments[i + 2]});
    i += 1 + operands;
  }
  return changes;
}

}  // namespace cardcage
