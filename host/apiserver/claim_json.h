// A ResourceClaim out of its JSON; status.allocation is the same in v1, v1beta2 and v1beta1.
#pragma once

#include "host/apiserver/json_view.h"
#include "host/model/claim.h"

namespace cardcage {

// The limits are a few times those of the API (32 results, 64 configs, parameters of 10 KiB), so that a later release
// may raise its own: beyond them is not a claim but an attack. kInvalidArgument, the text names the field.
Result<Claim> claim_from_json(const json::value& value);

}  // namespace cardcage
