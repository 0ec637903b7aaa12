// Refuses wrong parameters when a ResourceClaim, ResourceClaimTemplate or DeviceClass is applied: what the modules of a
// driver declare, as a ValidatingAdmissionPolicy.
//
// The policy helps the author of a claim and protects nothing: each prepare checks the parameters again. Therefore an
// error of the policy itself lets the object through.
#pragma once

#include <boost/json/object.hpp>
#include <span>
#include <string>
#include <vector>

#include "host/core/result.h"
#include "host/model/option.h"

namespace cardcage {

// What one module of a driver declares. Without schemas it takes any parameters.
struct DeclaredParams {
  std::string module;
  std::vector<ParamsSchema> schemas;
};

struct AdmissionPolicy {
  boost::json::object policy, binding;
};

// The policy for all entries of the driver, and what puts it into force. Both are named after the driver, so another
// call for it replaces them. Fails if no module declares parameters, or if two declare the same kind differently.
Result<AdmissionPolicy> admission_policy(const std::string& driver, std::span<const DeclaredParams> modules);

}  // namespace cardcage
