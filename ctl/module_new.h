// cagectl module new NAME --language c|cpp|rust
#pragma once

#include "ctl/session.h"

namespace cardcage {

// Adds itself to `cagectl module`.
void add_module_new(CLI::App& module, Session& session);

}  // namespace cardcage
