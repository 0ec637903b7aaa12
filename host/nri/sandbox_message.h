// Reads a pod's sandbox as the container runtime reports it.
#pragma once

#include <optional>

#include "host/core/result.h"
#include "host/model/pod_sandbox.h"
#include "host/nri/protocol.h"

namespace cardcage {

// Returns nothing for a sandbox that does not belong to a Kubernetes pod, such as one of `crictl runp` without a UID:
// no claim is for it. Fails if a pod's network namespace is not a path.
Result<std::optional<RuntimeSandbox>> read_pod_sandbox(const api::nri::PodSandbox& message);

}  // namespace cardcage
