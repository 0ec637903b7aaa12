// Checks module files without a daemon, for their authors and for operators who install them.
#pragma once

#include "host/conformance/report.h"
#include "host/conformance/trial.h"

namespace cardcage {

// Checks the file against the rules of abi/RULES.md: loads it in workers and calls it as the daemon does. Any
// misbehaviour of the module is a finding; an error says why nothing could be checked. Blocks.
Result<Report> check_file(CheckRequest request);

// Reads the module's declarations. It is loaded in a worker with the options of the request, and only its constructors
// and its entry run. Blocks.
Result<ModuleIdentity> read_declarations(CheckRequest request);

}  // namespace cardcage
