// What a module says about itself, checked: identity, options, parameters.
#pragma once

#include <string>

#include "cardcage/module.h"
#include "host/loader/loader.h"
#include "host/model/module.h"

namespace cardcage {

// [any-thread] `table` as read_table returned it; calls its extension function. Errors name the member that is wrong.
Result<ModuleIdentity> read_identity(const cage_module& table, std::string sha256);

// Loads a staged module and reads who it is: the same for a module inside the daemon and in a worker. Runs its code,
// see load(). Errors begin with the module's name in the configuration.
struct IdentifiedModule {
  LoadedModule module;
  ModuleIdentity identity;
};
Result<IdentifiedModule> load_identified(const std::string& name, StagedModule staged);

// The optional families that the module offers, or null; what is not null has its function [R5]. [any-thread]
const cage_preferred* preferred_of(const cage_module& table);
const cage_pre_start* pre_start_of(const cage_module& table);
const cage_reconcile* reconcile_of(const cage_module& table);

}  // namespace cardcage
