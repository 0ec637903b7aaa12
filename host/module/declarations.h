// What a module says about itself, checked: identity, options, parameters.
#pragma once

#include <string>

#include "cardcage/module.h"
#include "host/module/module.h"

namespace cardcage {

// [any-thread] `table` as read_table returned it; calls its extension function. Errors name the member that is wrong.
Result<ModuleIdentity> read_identity(const cage_module& table, std::string sha256);

// A family of functions the module offers, or null: `id` is one of the CAGE_EXT_ names [R5]. [any-thread]
const void* find_extension(const cage_module& table, const char* id);

}  // namespace cardcage
