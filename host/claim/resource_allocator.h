// Hands out the devices of one device-plugin resource to containers, and takes them back.
//
// The kubelet names only ids: neither the pod, nor that a pod is gone. So a device is prepared when the first of its
// ids is handed out, and unprepared when the last one is known to be free. The kubelet may hand out an id again: to a
// later container of the same pod, which gets the device as it is, or to a new pod, for which the device is unprepared
// and prepared again.
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
#include "host/claim/held_devices.h"
#include "host/config/config.h"
#include "host/core/backoff.h"
#include "host/core/delayed_call.h"

namespace cardcage {

// "gpu-7::2" is the third replica of device "gpu-7".
std::string device_id_of(const std::string& id, bool replicated);

// [core]
class ResourceAllocator {
 public:
  // `changed` is called when the results of unavailable() or records() have changed. The allocator stays until the core
  // stops, because its operations run on after their callers.
  ResourceAllocator(std::string resource, ResourceConfig config, ClaimEnvironment environment,
                    std::function<void()> changed);
  ResourceAllocator(const ResourceAllocator&) = delete;
  ResourceAllocator& operator=(const ResourceAllocator&) = delete;

  // Applies to devices that are handed out from now on.
  void configure(const ResourceConfig& config) { config_ = config; }
  // Implements AllocationService. The ids are listed and healthy.
  Task<Result<ContainerGrant>> allocate(std::vector<std::string> ids, Instant deadline);
  Task<Status> pre_start(std::vector<std::string> ids, Instant deadline);

  // The kubelet tells which container holds the id.
  void seen(const std::string& id, const PodContainer& pod);
  // The kubelet tells that no container holds the id. Ok if it is not handed out, kUnavailable while it or another
  // replica of its device is being handed out.
  Task<Status> release(std::string id, Instant deadline);
  // The kubelet tells that a pod holds an id that is not handed out: a ledger was lost.
  Task<Status> adopt(std::string id, PodContainer pod, Instant deadline);
  // See ClaimPreparer.
  Task<void> refit(std::string uid, Instant deadline) { return preparer_->refit(std::move(uid), deadline); }
  // Prepares again the devices that a reboot or a crash has left unprepared. Returns whether all are prepared.
  Task<bool> restore(Instant deadline);

  // The reason not to offer the device now: it failed recently, or it or a part of the same hardware is held through
  // another driver or resource. One pod after the other would fail with it.
  // `own` is record_for() the device, which lists of many devices look up once.
  std::optional<Health> unavailable(const HeldDevices& others, const Device& device, const ClaimRecord* own) const;
  // One entry per id. If the holders of a device are not known, because the ledger was rebuilt, the device's own id.
  std::vector<HandedOutDevice> handed_out() const;
  Instant allocated(const std::string& id) const;
  // True if the id is being handed out at this moment.
  bool busy(const std::string& id) const;
  std::vector<std::shared_ptr<const ClaimRecord>> records() const;
  // The record of a device that the module lists; null if it is not handed out.
  std::shared_ptr<const ClaimRecord> record_for(const std::string& module, const Device& device) const;

 private:
  // Marks, during its life, that a call is about to add holders of the ids.
  class HandingOut {
   public:
    HandingOut(ResourceAllocator& allocator, std::string uid, std::vector<std::string> ids);
    ~HandingOut();
    HandingOut(const HandingOut&) = delete;
    HandingOut& operator=(const HandingOut&) = delete;

   private:
    ResourceAllocator& allocator_;
    const std::string uid_;
    const std::vector<std::string> ids_;
  };
  struct Rest {
    Backoff pause;
    Instant until;
    std::string why;
    DelayedCall over;
  };
  Result<LocatedDevice> locate(const std::string& id) const;
  Status check_request(const std::vector<std::string>& ids) const;
  Task<Result<ClaimRecord>> plan(std::string uid, Instant deadline) const;
  Result<std::string> planned_id(const std::string& uid) const;
  std::string uid_for(const std::string& module, const Device& device) const;
  Task<void> hand_out(std::string uid, std::vector<std::string> ids, Instant deadline, OneShot<Status> done);
  Task<Status> prepare(const std::string& uid, const std::vector<std::string>& ids, Instant deadline);
  bool others_need(const std::string& uid, const std::vector<std::string>& ids) const;
  Status still_free(const std::string& uid, const std::string& id, Instant last) const;
  Status add_holders(const std::string& uid, const std::vector<std::string>& ids, const PodContainer& pod);
  bool may_be_same_pod(const Holder& holder) const;
  void rest(const std::string& device_id, const Error& why);
  std::shared_ptr<const ClaimRecord> record_of(const std::string& id) const;
  Task<Status> pre_start_alone(std::string id, std::vector<std::string> ids, Instant deadline);
  Result<ContainerGrant> grant(const std::vector<std::string>& uids) const;

  const std::string resource_;
  ResourceConfig config_;
  const ClaimEnvironment environment_;
  const std::function<void()> changed_;
  const std::shared_ptr<ClaimPreparer> preparer_;
  std::multimap<std::string, std::string> handing_out_;  // ids by UID: calls under way that add holders
  std::map<std::string, Instant> allocated_;             // by id: when its last allocate() ended
  const Instant opened_ = environment_.clock.now();
  std::map<std::string, Rest> resting_;  // by the module's id
};

}  // namespace cardcage
