// Holders of devices, as the kubelet's PodResources API lists them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "host/claim/handed_out.h"

namespace cardcage {

struct PodHolding {
  ResourceDevice device;
  PodContainer holder;
  friend auto operator<=>(const PodHolding&, const PodHolding&) = default;
};

// The containers that use a claim, by its namespace and name.
using ClaimUsers = std::map<std::pair<std::string, std::string>, std::vector<PodContainer>>;

// Has all resources of the node, ours or not, but no ordinary init containers.
struct PodListing {
  Instant began;                     // when the call began; later changes may be missing
  std::vector<PodHolding> holdings;  // sorted, each once
  ClaimUsers claims = {};
};

}  // namespace cardcage
