// The kubelet's requests for a driver, per claim. DRA's gRPC services call it.
#pragma once

#include <string>
#include <vector>

#include "host/core/task.h"
#include "host/model/claim.h"

namespace cardcage {

// [core] One per driver name. Both calls are idempotent, and may run concurrently for any mix of claims.
//
// Both return by `deadline`, even if a module, a disk or the API server hangs: then with kDeadlineExceeded and the
// thing they waited for. The work continues, and a repetition of the call finds its result. No caller enforces the
// deadline again.
class ClaimService {
 public:
  virtual ~ClaimService() = default;

  // The error's text reaches the pod's event.
  virtual Task<Result<std::vector<PreparedDevice>>> prepare(ClaimRef claim, Instant deadline) = 0;
  // Ok for a claim that was never prepared.
  virtual Task<Status> unprepare(ClaimRef claim, Instant deadline) = 0;
};

}  // namespace cardcage
