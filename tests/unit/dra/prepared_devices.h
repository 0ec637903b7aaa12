#pragma once

#include <vector>

#include "host/core/result.h"
#include "host/core/task.h"
#include "host/model/claim.h"

namespace cardcage {

using Devices = std::vector<PreparedDevice>;

inline Task<Result<Devices>> completed(Result<Devices> value) { co_return value; }

}  // namespace cardcage
