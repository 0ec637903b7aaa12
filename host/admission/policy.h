// A ValidatingAdmissionPolicy made from the parameters that the modules of a driver declare. It refuses wrong
// parameters when a ResourceClaim, ResourceClaimTemplate or DeviceClass is applied.
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

// The parameters that one module of a driver declares. A module without schemas takes any parameters.
struct DeclaredParams {
  std::string module;
  std::vector<ParamsSchema> schemas;
};

struct AdmissionPolicy {
  boost::json::object policy, binding;
};

// The policy for all entries of the driver, and its binding. Both are named after the driver, so another call for it
// replaces them. Fails if no module declares parameters, or if two declare the same kind differently.
Result<AdmissionPolicy> admission_policy(const std::string& driver, std::span<const DeclaredParams> modules);

}  // namespace cardcage
