// A pod's sandbox as the container runtime tells of it.
#pragma once

#include <optional>

#include "host/core/result.h"
#include "host/model/runtime_sandbox.h"
#include "host/nri/protocol.h"

namespace cardcage {

// Nothing for a sandbox that is not of a pod of Kubernetes, such as one of `crictl runp` without a UID: no claim is for
// it. Fails if the network namespace of a pod is not a path.
Result<std::optional<RuntimeSandbox>> read_pod_sandbox(const api::nri::PodSandbox& message);

}  // namespace cardcage
