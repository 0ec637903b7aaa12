// The causes that a module declares, checked [R23].
#pragma once

#include <vector>

#include "cardcage/module.h"
#include "host/core/result.h"
#include "host/model/cause.h"

namespace cardcage {

// [any-thread] Errors name the wrong member.
Result<std::vector<CauseDeclaration>> copy_causes(const cage_module& table);

}  // namespace cardcage
