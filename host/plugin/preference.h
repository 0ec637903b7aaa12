// An answer for GetPreferredAllocation in every case: the kubelet fails the pod if the call does not succeed.
#pragma once

#include <span>

#include "host/claim/allocation_service.h"
#include "host/plugin/device_list.h"

namespace cardcage {

// What is left of `query` when ids that come twice or are not in `listed` are taken out, and `wanted` is no more than
// there is. `required` is a part of `available` then.
PreferenceQuery sane(PreferenceQuery query, const DeviceList& listed);

// `choice` made to fit a sane query: of what is available, each once, the required ones first, filled up in the order
// of `available`.
std::vector<std::string> completed(const PreferenceQuery& query, std::span<const std::string> choice);

}  // namespace cardcage
