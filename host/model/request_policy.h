// What claims may consume of a capacity of a shared device (KEP-5075).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/model/quantity.h"

namespace cardcage {

constexpr std::size_t kMaxPolicyValues = 10;

// The scheduler rounds the amount of a request up to one that the policy allows.
struct RequestPolicy {
  std::optional<Quantity> default_amount;  // of a request that names none; the API allows a policy without it
  std::vector<Quantity> values;            // the only amounts, in ascending order; empty = any in the range
  std::optional<Quantity> min, max, step;  // the range, if there is a `min`

  friend bool operator==(const RequestPolicy&, const RequestPolicy&) = default;
};

// By name of the capacity.
using RequestPolicies = std::map<std::string, RequestPolicy>;

// Says why the API server would refuse the policies of a device with these capacities; nothing if it would not
// (k/k pkg/apis/resource/validation). Amounts below zero, which it takes in places, are refused, too.
std::optional<std::string> flaw_of(const RequestPolicies& policies, const std::map<std::string, Quantity>& capacity,
                                   bool shared);

// True for amounts that are right only if the server does not round them to whole numbers: one without the feature gate
// DRAFractionalCapacityRange (new in Kubernetes 1.37) refuses them. [of a policy without a flaw]
bool needs_fractions(const RequestPolicy& policy);

}  // namespace cardcage
