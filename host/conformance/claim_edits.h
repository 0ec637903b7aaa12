// Describes the result of a prepare for people.
#pragma once

#include <string>

#include "host/model/module_claim.h"

namespace cardcage {

// "variables: 2, device nodes: 1, bytes of state: 36"
std::string summary_of(const PreparedEdits& edits);
// Names the kinds of edits that differ; empty if none does. The state is the module's own and does not count.
std::string edit_changes(const PreparedEdits& before, const PreparedEdits& after);

}  // namespace cardcage
