// The claims of one RPC on their way through the ClaimService.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/claim/claim_service.h"

namespace cardcage {

enum class ClaimOperation : std::uint8_t { kPrepare, kUnprepare };

// One claim as the request names it, and its result. Unprepare results in no devices.
struct ClaimEntry {
  ClaimRef ref;
  std::optional<Result<std::vector<PreparedDevice>>> result;
};
using ClaimBatch = std::vector<ClaimEntry>;

// [any-thread] Checks and dedupes the claims of a request: a claim with a missing or malformed field has its result
// already.
ClaimBatch check_claims(std::vector<ClaimRef> claims);

// [core] Runs the claims that have no result yet side by side, and returns when all of them have one: at `deadline` at
// the latest, which ClaimService guarantees. `claims` outlives the task.
Task<ClaimBatch> run_claims(asio::io_context& core, ClaimService& claims, ClaimOperation operation, ClaimBatch batch,
                            Instant deadline);

}  // namespace cardcage
