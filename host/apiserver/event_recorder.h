// Tells the cluster about the health of devices: Events on the node.
//
// Events of the same kind within a second become one, and so do those that wait for the rate limit: a rack that fails
// costs each node a few small writes. Events that the cluster does not accept are counted, and the next Event gives
// their number.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/core/rate_limit.h"
#include "host/core/wakeup.h"
#include "host/model/cluster.h"
#include "host/model/health_record.h"

namespace cardcage {

// [core] Waits only in run(). Must outlive run().
class EventRecorder {
 public:
  // `node` is the name of the node. The references outlive this.
  EventRecorder(asio::io_context& core, Clock& clock, Cluster& cluster, std::string node);

  // Takes a cause from before this daemon started: its end is news, too.
  void remember(const CauseRecord& record);
  void record(const HealthEvent& event);
  // Writes until the surrounding coroutine is cancelled.
  Task<void> run();

 private:
  using WallTime = std::chrono::system_clock::time_point;
  struct Words;
  struct Item {
    DeviceKey device;
    std::string cause;
    std::string name, detail;
    std::int64_t times = 0;
  };
  // The content of the next Event of one kind.
  struct Group {
    const Words* words;
    Instant begun;
    WallTime first, last;
    std::vector<Item> items;  // the first ones only
    std::set<DeviceKey> devices;
    std::int64_t times = 0;
  };
  // An Event that a repetition would update.
  struct Written {
    std::string key;
    NodeEvent event;
    Instant at;
  };

  // Returns null if the event is not news for the cluster.
  const Words* judge(const HealthEvent& event);
  void insert_bad(const DeviceKey& device, const std::string& cause);
  bool is_bad(const DeviceKey& device) const;
  static std::string key_of(const Group& group);
  std::string note_of(const Group& group) const;
  NodeEvent make(const Group& group);
  std::string unique_name();
  Task<void> write(NodeEvent event, std::int64_t times);

  Clock& clock_;
  Cluster& cluster_;
  const std::string node_;
  std::set<std::pair<DeviceKey, std::string>> bad_;  // causes that are unhealthy or degraded
  std::vector<Group> groups_;                        // oldest first, one per kind
  std::deque<Written> written_;                      // oldest first
  RateLimit limit_;
  Wakeup news_;
  std::int64_t last_name_ = 0;
  std::int64_t lost_ = 0;  // since the last Event that was written
  bool refused_ = false;   // the daemon lacks the permission
};

}  // namespace cardcage
