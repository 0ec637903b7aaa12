// Checks a module file against the rules of abi/RULES.md, for its author and for whoever installs it.
#pragma once

#include "host/conformance/report.h"
#include "host/conformance/trial.h"

namespace cardcage {

// Loads the module in workers and calls it as the daemon does. Whatever the module does is a finding; an error says
// why nothing could be checked. Blocks.
Result<Report> check_file(CheckRequest request);

}  // namespace cardcage
