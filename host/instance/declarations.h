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

// [any-thread] An optional family of functions, or null if the module does not offer it and its function [R5].
const cage_preferred* preferred_of(const cage_module& table);
const cage_pre_start* pre_start_of(const cage_module& table);
const cage_configure* configure_of(const cage_module& table);
const cage_quiesce* quiesce_of(const cage_module& table);
const cage_reset* reset_of(const cage_module& table);
const cage_bind* bind_of(const cage_module& table);
const cage_sandbox* sandbox_of(const cage_module& table);
const cage_reconcile* reconcile_of(const cage_module& table);
const cage_metrics* metrics_of(const cage_module& table);
const cage_labels* labels_of(const cage_module& table);
const cage_catalogue* catalogue_of(const cage_module& table);
const cage_watch* watch_of(const cage_module& table);

}  // namespace cardcage
