// Reads a ResourceClaim from JSON, and a Pod's claims. status.allocation is the same in v1, v1beta2 and v1beta1.
#pragma once

#include "host/apiserver/json_view.h"
#include "host/model/claim.h"
#include "host/model/cluster.h"

namespace cardcage {

// The limits are a few times those of the API (32 results, 64 configs, 10 KiB of parameters), since a later release may
// raise its own; anything larger is an attack. Fails with kInvalidArgument, and the text names the field.
Result<Claim> claim_from_json(const json::value& value);

// The claims made from templates, and the one for extended resources. Leaves out names that no claim can have.
PodClaims pod_claims_from_json(const json::value& pod);

}  // namespace cardcage
