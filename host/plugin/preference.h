// Makes sure that GetPreferredAllocation always succeeds: the kubelet fails the pod if it does not.
#pragma once

#include <span>

#include "host/claim/allocation_service.h"
#include "host/plugin/device_list.h"

namespace cardcage {

// Drops ids that come twice or are not in `listed`, makes `required` a subset of `available`, and `wanted` no more than
// there are.
PreferenceQuery sanitize(PreferenceQuery query, const DeviceList& listed);

// Makes a choice fit a sanitized query: available ids only, each once, the required ones first, filled up in the order
// of `available`.
std::vector<std::string> complete(const PreferenceQuery& query, std::span<const std::string> choice);

}  // namespace cardcage
