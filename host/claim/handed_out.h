// The devices that the host has handed out through the device-plugin API. That API has no call to give a device back:
// the pods of the node tell when it is free.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "host/core/task.h"

namespace cardcage {

// The kubelet's names: "example.com/fpga", "fpga-3::1".
struct ResourceDevice {
  std::string resource, id;
  friend auto operator<=>(const ResourceDevice&, const ResourceDevice&) = default;
};

struct PodContainer {
  std::string name_space, pod, container;
  std::string uid;  // the pod's UID; empty unless the kubelet's Pods API tells it
  friend auto operator<=>(const PodContainer&, const PodContainer&) = default;
};

struct HandedOutDevice {
  ResourceDevice device;
  Instant allocated;        // when its last Allocate ended; for a device from the ledger, when that was loaded
  bool allocating = false;  // an Allocate is under way
  bool seen = false;        // seen() was called after the last Allocate
  friend bool operator==(const HandedOutDevice&, const HandedOutDevice&) = default;
};

struct ServedResource {
  std::string name;
  std::vector<std::string> healthy;  // as sent to the kubelet; empty unless it is registered and has the list
};

// [core] Owns the records of handed out devices.
class HandedOut {
 public:
  virtual ~HandedOut() = default;

  virtual std::vector<ServedResource> served() const = 0;
  // Sorted by device, each once.
  virtual std::vector<HandedOutDevice> handed_out() const = 0;

  // This container holds the device now. Called again only if another one does, or after another Allocate.
  virtual void seen(const ResourceDevice& device, const PodContainer& holder) = 0;
  // No container holds it any more. Repeated with growing pauses while it fails. kAborted if the device was allocated
  // after `device.allocated`.
  virtual Task<Status> release(HandedOutDevice device) = 0;
  // A container holds a device of ours that is not handed out: the ledger was lost, or lacks the entries that a power
  // failure has cut off. Repeated like release().
  virtual Task<Status> adopt(ResourceDevice device, PodContainer holder) = 0;

  // The kubelet offers none of the healthy devices that it was sent. The owner registers the resource again.
  virtual void lost(const std::string& resource) = 0;
  // The owner sends the kubelet the unchanged list once more. The kubelet then writes its checkpoint, which settles
  // whether a pod that has ended still holds a device.
  virtual void resend(const std::string& resource) = 0;
};

}  // namespace cardcage
