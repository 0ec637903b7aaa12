// Detects other nodes that publish slices of the same driver and pool: the scheduler would take the slices of one node
// and ignore those of the others.
//
// The publisher watches the slices of its own node only. A list of all nodes costs the API server more, so only pools
// whose name does not contain the node's are listed: soon after a start or a change, and then ever less often.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/core/backoff.h"
#include "host/core/clock.h"
#include "host/core/wakeup.h"
#include "host/model/cluster.h"

namespace cardcage {

// [core] Must outlive run().
class PoolNeighbours {
 public:
  struct Options {
    std::string driver, node_name;
    Duration request_timeout;
    std::uint32_t jitter_seed;
  };
  PoolNeighbours(asio::io_context& core, Clock& clock, Cluster& cluster, Options options);

  void set_pools(std::vector<std::string> pools);
  // Runs until the surrounding coroutine is cancelled.
  Task<void> run();
  // By pool: the other node that publishes it.
  const std::map<std::string, std::string>& found() const { return found_; }

 private:
  Task<void> check();

  Clock& clock_;
  Cluster& cluster_;
  const Options options_;
  std::vector<std::string> pools_;
  std::map<std::string, std::string> found_;
  Backoff pause_;
  Wakeup changed_;
};

}  // namespace cardcage
