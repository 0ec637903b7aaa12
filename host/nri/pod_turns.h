// Runs work for pods, one piece at a time for each pod and in the order of arrival.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>

#include "host/core/task_group.h"

namespace cardcage {

// [core] Outlives the work.
class PodTurns {
 public:
  using Work = std::function<Task<void>()>;
  explicit PodTurns(asio::io_context& core) : running_(core) {}

  // Returns false if too much work is waiting already, for this pod or in all.
  bool add(const std::string& uid, Work work);
  // Returns once no work is left.
  Task<void> join(Clock& clock) { return running_.join(clock, Instant::max()); }

 private:
  Task<void> run(std::string uid);

  std::map<std::string, std::deque<Work>> waiting_;  // by UID; a pod has an entry while its work runs
  std::size_t size_ = 0;                             // running and waiting pieces
  TaskGroup running_;
};

}  // namespace cardcage
