// What the kubelet asks of a driver, per claim. DRA's gRPC services and cagectl stand in front of it.
#pragma once

#include <string>
#include <vector>

#include "host/core/task.h"
#include "host/model/claim.h"

namespace cardcage {

// [core] One per driver name. Both calls are idempotent and safe to run concurrently for any mix of claims.
class ClaimService {
 public:
  virtual ~ClaimService() = default;

  // The deadline is when the caller must have an answer. The error text reaches the pod's event.
  virtual Task<Result<std::vector<PreparedDevice>>> prepare(ClaimRef claim, Instant deadline) = 0;
  // Ok for a claim that was never prepared.
  virtual Task<Status> unprepare(ClaimRef claim, Instant deadline) = 0;
};

}  // namespace cardcage
