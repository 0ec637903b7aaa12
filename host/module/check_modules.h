// Checks the modules of a configuration without starting any of them, for `cardcage --check`.
#pragma once

#include <vector>

#include "host/config/config.h"

namespace cardcage {

// Loads each module in a worker, whatever its isolation, and compares its options and health rules with its
// declarations. Runs only the module's constructors and its entry. Returns the errors that would keep modules from
// starting. Blocks, for at most deadlines.start per module.
std::vector<Error> check_modules(const Config& config);

}  // namespace cardcage
