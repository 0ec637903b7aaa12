// The metrics that a module declares, checked [R17].
#pragma once

#include <vector>

#include "cardcage/module.h"
#include "host/core/result.h"
#include "host/model/report.h"

namespace cardcage {

// [any-thread] Errors name the wrong member.
Result<std::vector<MetricDeclaration>> copy_metrics(const cage_metrics& family);

}  // namespace cardcage
