// Module files without a daemon: for their authors and for whoever installs them.
#pragma once

#include "host/conformance/report.h"
#include "host/conformance/trial.h"

namespace cardcage {

// Checks the file against the rules of abi/RULES.md: loads it in workers and calls it as the daemon does. Whatever the
// module does is a finding; an error says why nothing could be checked. Blocks.
Result<Report> check_file(CheckRequest request);

// What the module declares. It is loaded in a worker with the options of the request, and nothing of it runs but its
// constructors and its entry. Blocks.
Result<ModuleIdentity> read_declarations(CheckRequest request);

}  // namespace cardcage
