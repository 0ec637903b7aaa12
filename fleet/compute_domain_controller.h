// Keeps the objects that belong to ComputeDomains: makes the ResourceClaimTemplate that each names, keeps its status,
// and removes the template with it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fleet/compute_domain_store.h"
#include "fleet/object_watch.h"
#include "host/core/wakeup.h"

namespace cardcage {

// [core] Must outlive run(). Two at once do no harm: the API server refuses to change an object that the other has
// changed.
class ComputeDomainController {
 public:
  ComputeDomainController(asio::io_context& core, Clock& clock, ApiSession& session, WatchPace pace = {});
  ComputeDomainController(const ComputeDomainController&) = delete;
  ComputeDomainController& operator=(const ComputeDomainController&) = delete;
  ~ComputeDomainController();

  // Runs until the surrounding coroutine is cancelled.
  Task<void> run();

  // True when all objects have been read once.
  bool listed() const;

 private:
  Task<void> reconcile();
  Task<Status> settle(std::string key);
  // The call that takes the step.
  ApiCall call_for(const ComputeDomain& domain, ComputeDomainStep step) const;

  Clock& clock_;
  ApiSession& session_;
  Wakeup changed_;
  Backoff retry_;
  ComputeDomainStore store_;
  std::vector<std::unique_ptr<ObjectSink>> sinks_;
  std::vector<std::unique_ptr<ObjectWatch>> watches_;
};

}  // namespace cardcage
