// The host as claims see it: what other rooms do for a claim when it is prepared and released.
#pragma once

#include <string>

#include "host/core/task.h"
#include "host/ledger/record.h"

namespace cardcage {

// [core]
class ClaimHost {
 public:
  virtual ~ClaimHost() = default;

  // Called after a device was taken or released that excludes others of its module.
  virtual void partition_changed(const std::string& module) = 0;
  // Fails if the claim lacks one of its services, because the module may not run it any more.
  virtual Status check_services(const std::string& claim_uid) const = 0;
  // Ends the services of the module for the claim, once the module has released it.
  virtual Task<Status> stop_services(std::string module, std::string claim_uid, Instant deadline) = 0;
  // Makes the hook for containers whose devices the module, not the container runtime, moves to the pod: without the
  // devices they do not start.
  virtual Hook sandbox_hook(const ClaimKey& claim) const = 0;
  // Makes hooks for edits that CDI cannot express.
  virtual void make_hooks(Edits& edits) const = 0;
  // Waits until the program of the hooks is in place on the node.
  virtual Task<Status> hooks_ready(Instant deadline) = 0;
  // Called before the modules release a claim: no container may rely on having its devices any more.
  virtual void before_release(const ClaimKey& claim) = 0;
};

}  // namespace cardcage
