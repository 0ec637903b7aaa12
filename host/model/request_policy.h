// The amounts of a shared device's capacity that claims may consume (KEP-5075).
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
  std::optional<Quantity> default_amount;  // for requests without an amount; the API allows a policy without a default
  std::vector<Quantity> values;            // the only allowed amounts, ascending; empty = the range applies
  std::optional<Quantity> min, max, step;  // the range, if `min` is set

  friend bool operator==(const RequestPolicy&, const RequestPolicy&) = default;
};

// Policies by name of the capacity.
using RequestPolicies = std::map<std::string, RequestPolicy>;

// Explains why the API server would refuse the policies of a device with these capacities; nothing if they are valid
// (k/k pkg/apis/resource/validation). Negative amounts, which it accepts in places, are refused, too.
std::optional<std::string> flaw_of(const RequestPolicies& policies, const std::map<std::string, Quantity>& capacity,
                                   bool shared);

// Returns true for amounts that are valid only if the server does not round them to whole numbers: a server without the
// feature gate DRAFractionalCapacityRange (new in Kubernetes 1.37) refuses them. [of a policy without a flaw]
bool needs_fractions(const RequestPolicy& policy);

}  // namespace cardcage
