// Follows the objects of a cluster that describe devices and their users, and puts them into the store.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fleet/fleet_store.h"
#include "fleet/node_events.h"
#include "fleet/object_watch.h"
#include "host/core/task_group.h"

namespace cardcage {

// [core] One watch each for ResourceSlices, ResourceClaims, DeviceTaintRules and Events about nodes.
class FleetWatches {
 public:
  // Calls `changed` when one of them has read its first list, or loses or finds the API server again. `more_claims`
  // gets the claims, too; null = none.
  FleetWatches(asio::io_context& core, Clock& clock, ApiSession& session, FleetStore& store, NodeEvents& events,
               WatchPace pace, std::function<void()> changed, ObjectSink* more_claims = nullptr);
  FleetWatches(const FleetWatches&) = delete;
  FleetWatches& operator=(const FleetWatches&) = delete;
  ~FleetWatches();

  // Runs until the surrounding coroutine is cancelled.
  Task<void> run();

  const ObjectWatch& claims() const { return *watches_[1]; }
  // True when all have read their first list.
  bool synced() const;
  std::vector<std::string> warnings() const;
  std::size_t lost() const;

 private:
  std::vector<std::unique_ptr<ObjectSink>> sinks_;
  std::vector<std::unique_ptr<ObjectWatch>> watches_;
};

}  // namespace cardcage
