// The options and the schemas of parameters that a module declares, checked. Errors name the wrong declaration.
#pragma once

#include <vector>

#include "cardcage/module.h"
#include "host/core/result.h"
#include "host/model/option.h"

namespace cardcage {

Result<std::vector<OptionDeclaration>> copy_options(const cage_module& table);

Result<std::vector<ParamsSchema>> copy_schemas(const cage_module& table);

}  // namespace cardcage
