// The limits of resource.k8s.io for the attributes of a device; catalogue entries keep them, too.
#pragma once

#include "host/model/device.h"

namespace cardcage {

constexpr std::size_t kMaxAttributes = 32;       // attributes and capacities of a device together
constexpr std::size_t kMaxAttributeValues = 48;  // list elements included

// The approximate size of the attributes in memory and in a request to the API server.
std::size_t size_of(const Attributes& attributes);

}  // namespace cardcage
