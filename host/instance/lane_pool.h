// Threads for the calls of a concurrent module that may overlap.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "host/core/result.h"
#include "host/instance/lane.h"

namespace cardcage {

// The name of a pool's threads in a worker, as lists of its threads show them.
constexpr const char* kClaimThread = "module/claim";

// Every job runs at once: on an idle thread or, if there is none, on a new one. Its user bounds the number of jobs.
class LanePool {
 public:
  // The number of jobs that run. May outlive the pool.
  using Jobs = std::atomic<int>;
  // [any-thread] Returns when none runs.
  static void wait_until_ended(const Jobs& jobs) {
    while (const int running = jobs) jobs.wait(running);
  }

  explicit LanePool(std::string name) : name_(std::move(name)) {}

  // [one thread at a time] Fails if no thread can be made; the job does not run then.
  Status post(Lane::Job job);
  const std::shared_ptr<Jobs>& jobs() const { return jobs_; }
  // See Lane.
  void leave_alone();

 private:
  struct Thread {
    explicit Thread(const std::string& name) : lane(name) {}
    Lane lane;
    std::shared_ptr<std::atomic<bool>> busy = std::make_shared<std::atomic<bool>>(false);
  };

  const std::string name_;
  const std::shared_ptr<Jobs> jobs_ = std::make_shared<Jobs>(0);
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace cardcage
