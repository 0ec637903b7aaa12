// The changes that a module requests in the root of a container, as arguments of the hook. The daemon writes them, and
// the hook, which may be of another version, reads them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/core/result.h"
#include "host/model/edits.h"

namespace cardcage {

struct RootChanges {
  std::vector<LdPath> ld_paths;
  std::vector<ProcText> proc_texts;
  bool empty() const { return ld_paths.empty() && proc_texts.empty(); }
  friend bool operator==(const RootChanges&, const RootChanges&) = default;
};

std::vector<std::string> to_arguments(const RootChanges& changes);
Result<RootChanges> root_changes_from(std::span<const char* const> arguments);

}  // namespace cardcage
