// Names of Kubernetes objects, checked before they become part of a path or a query.
#pragma once

#include <string_view>

#include "host/core/result.h"

namespace cardcage {

// "namespace 'A/B' is not a DNS label ..."; kInvalidArgument.
Status check_namespace(std::string_view name_space);
// `name` must be a DNS subdomain. `what` begins the message: "ResourceClaim name", "node name", ...
Status check_object_name(std::string_view name, std::string_view what);

}  // namespace cardcage
