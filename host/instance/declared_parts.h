// The parts of a module's table and families that declare something, copied and checked.
#pragma once

#include <vector>

#include "cardcage/module.h"
#include "host/core/result.h"
#include "host/model/cause.h"
#include "host/model/event.h"
#include "host/model/option.h"
#include "host/model/report.h"

namespace cardcage {

// [any-thread] Errors name the wrong member.
Result<std::vector<OptionDeclaration>> copy_options(const cage_module& table);
Result<std::vector<ParamsSchema>> copy_schemas(const cage_module& table);
Result<std::vector<CauseDeclaration>> copy_causes(const cage_module& table);      // [R23]
Result<std::vector<MetricDeclaration>> copy_metrics(const cage_metrics& family);  // [R17]
Result<WatchDeclaration> copy_watch(const cage_watch& family);                    // [R20]

}  // namespace cardcage
