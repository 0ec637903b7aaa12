// Hands the devices of one device-plugin resource out to containers, and takes them back.
//
// The kubelet names ids and nothing else: not the pod, and never that a pod is gone. So a device is prepared when the
// first of its ids is handed out, and let go of when the last one is known to be free. An id that the kubelet hands out
// again goes to a later container of the same pod, which finds the device as it is, or to a new pod, for which the
// device is let go of and prepared anew.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/claim/allocation_service.h"
#include "host/claim/claim_preparer.h"
#include "host/claim/handed_out.h"
#include "host/config/config.h"

namespace cardcage {

// "gpu-7::2" is the third replica of device "gpu-7".
std::string device_id_of(const std::string& id, bool replicated);

struct HandedOutId {
  std::string id;
  Instant allocated;  // when the last allocate() of it ended; for what the ledger brought, when it did
  bool busy = false;  // being handed out at this moment
  bool seen = false;  // the kubelet has said whom it was for
};

// [core]
class ResourceAllocator {
 public:
  // `changed` is called when what may be handed out has changed: look at unavailable() and holders.
  ResourceAllocator(std::string resource, ResourceConfig config, ClaimEnvironment environment,
                    std::function<void()> changed);
  // Operations go on after their caller; they end with the run of the core.
  ResourceAllocator(const ResourceAllocator&) = delete;
  ResourceAllocator& operator=(const ResourceAllocator&) = delete;

  // For what is handed out from now on.
  void configure(const ResourceConfig& config) { config_ = config; }
  // See AllocationService. The ids are on the list and healthy.
  Task<Result<ContainerGrant>> allocate(std::vector<std::string> ids, Instant deadline);
  Task<Status> pre_start(std::vector<std::string> ids, Instant deadline);

  // The holder as the kubelet knows it.
  void seen(const std::string& id, const PodContainer& pod);
  // The kubelet says that the id is free. Ok if it is not handed out, kUnavailable while it is being handed out.
  Task<Status> release(std::string id, Instant deadline);
  // The kubelet says that a pod holds the id, and we did not know: a ledger was lost.
  Task<Status> adopt(std::string id, PodContainer pod, Instant deadline);
  // Prepares again what a reboot or a crash has undone. To be called when the modules may have changed; true if all is
  // prepared then.
  Task<bool> restore(Instant deadline);

  // Why the device is not to be offered now: it failed a moment ago, or somebody else has it. Pods that it is offered
  // to would fail one after the other.
  std::optional<std::string> unavailable(const std::string& module, const Device& device) const;
  // One per id; the device's for one whose holders are not known, from a ledger that was rebuilt.
  std::vector<HandedOutId> handed_out() const;
  Instant allocated(const std::string& id) const;
  // Being handed out at this moment.
  bool busy(const std::string& id) const;
  std::vector<std::shared_ptr<const ClaimRecord>> records() const;

 private:
  struct Rest {
    Instant until;
    int failures = 0;
    std::string why;
  };
  Result<LocatedDevice> locate(const std::string& id) const;
  Status check_request(const std::vector<std::string>& ids) const;
  Task<Result<ClaimRecord>> plan(std::string name, Instant deadline) const;
  Task<Status> take(std::string name, std::vector<std::string> ids, Instant deadline);
  Task<Status> take_now(const std::string& name, const std::vector<std::string>& ids, Instant deadline);
  Status hold(const std::string& name, const std::vector<std::string>& ids, const PodContainer& pod);
  bool same_pod(const Holder& holder) const;
  void rest(const std::string& name, const Error& why);
  Task<void> wake_later(Instant when);
  std::shared_ptr<const ClaimRecord> record_of(const std::string& id) const;
  Result<ContainerGrant> grant(const std::vector<std::string>& names) const;

  const std::string resource_;
  ResourceConfig config_;
  const ClaimEnvironment environment_;
  const std::function<void()> changed_;
  const std::shared_ptr<ClaimPreparer> preparer_;
  std::map<std::string, int> busy_;           // ids being handed out
  std::map<std::string, Instant> allocated_;  // ids, when their last allocate() ended
  const Instant opened_ = environment_.clock.now();
  std::map<std::string, Rest> resting_;  // by device name
};

}  // namespace cardcage
