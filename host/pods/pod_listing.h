// Who holds which device, as the kubelet's PodResources API lists it.
#pragma once

#include <vector>

#include "host/claim/handed_out.h"

namespace cardcage {

struct PodHolding {
  ResourceDevice device;
  PodContainer holder;
  friend auto operator<=>(const PodHolding&, const PodHolding&) = default;
};

// All resources of the node, ours or not; ordinary init containers are never in it.
struct PodListing {
  Instant began;                     // of the call: what happened later may or may not be in it
  std::vector<PodHolding> holdings;  // sorted, each once
};

}  // namespace cardcage
