// Pauses between attempts at a call to the cluster. They grow, and are short again after an outage.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "host/core/backoff.h"
#include "host/model/cluster.h"

namespace cardcage {

class ClusterBackoff {
 public:
  ClusterBackoff(Duration first, Duration longest, std::uint32_t seed) : pauses_(first, longest, seed) {}
  ClusterBackoff(Duration first, Duration longest, const std::string& name) : pauses_(first, longest, name) {}

  Duration next(Cluster& cluster) {
    const std::uint64_t recoveries = cluster.contact().recoveries();
    if (std::exchange(recoveries_, recoveries) != recoveries) pauses_.reset();
    return pauses_.next();
  }
  void reset() { pauses_.reset(); }

 private:
  Backoff pauses_;
  std::uint64_t recoveries_ = 0;
};

}  // namespace cardcage
