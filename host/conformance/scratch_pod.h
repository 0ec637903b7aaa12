// A pod for checks only: a network namespace of its own, which ends with the object.
#pragma once

#include <string>

#include "host/core/result.h"
#include "host/model/pod_sandbox.h"

namespace cardcage {

// kPermissionDenied without CAP_SYS_ADMIN.
Result<SandboxedPod> scratch_pod(std::string name);

}  // namespace cardcage
