// A pod's sandbox as the container runtime tells of it.
#pragma once

#include "host/core/result.h"
#include "host/model/pod_sandbox.h"
#include "host/nri/protocol.h"

namespace cardcage {

// The UID is a file name of printable ASCII; namespace and name are one line each, because sandboxes need not come from
// Kubernetes. Fails for anything else.
Result<PodSandbox> read_pod_sandbox(const api::nri::PodSandbox& message);

}  // namespace cardcage
