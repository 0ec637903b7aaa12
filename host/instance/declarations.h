// A module's declarations about itself, checked: identity, options, parameters.
#pragma once

#include <string>

#include "cardcage/module.h"
#include "host/loader/loader.h"
#include "host/model/module.h"

namespace cardcage {

// [any-thread] `table` comes from read_table(); its extension function is called. Errors name the wrong member.
Result<ModuleIdentity> read_identity(const cage_module& table, std::string sha256);

// Loads a staged module and reads its identity, in the daemon and in a worker alike. Runs the module's code, see
// load(). Errors begin with the module's name in the configuration.
struct IdentifiedModule {
  LoadedModule module;
  ModuleIdentity identity;
};
Result<IdentifiedModule> load_identified(const std::string& name, StagedModule staged);

}  // namespace cardcage
