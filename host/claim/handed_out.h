// What the host has handed out through the device-plugin API, for whoever learns from the kubelet that it is free
// again: that API has no call for it.
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
  std::string uid;  // of the pod; empty unless the kubelet's Pods API tells it
  friend auto operator<=>(const PodContainer&, const PodContainer&) = default;
};

struct HandedOutDevice {
  ResourceDevice device;
  Instant allocated;  // when the last Allocate that named it ended; for what the ledger brought, when it was loaded
  bool allocating = false;  // such a call is under way
  bool seen = false;        // seen() has been called since that Allocate
  friend bool operator==(const HandedOutDevice&, const HandedOutDevice&) = default;
};

struct ServedResource {
  std::string name;
  std::vector<std::string> healthy;  // as sent to the kubelet; empty unless it is registered and has the list
};

// [core] The owner of that record.
class HandedOut {
 public:
  virtual ~HandedOut() = default;

  virtual std::vector<ServedResource> served() const = 0;
  // By device, each once.
  virtual std::vector<HandedOutDevice> handed_out() const = 0;

  // This container holds the device now. Comes again only when another one does, or after another Allocate.
  virtual void seen(const ResourceDevice& device, const PodContainer& holder) = 0;
  // No container holds it any more. Comes again, ever more slowly, while it fails. To be refused (kAborted) if the
  // device has been allocated since `device.allocated`.
  virtual Task<Status> release(HandedOutDevice device) = 0;
  // A container holds a device of ours that is not handed out: the ledger was lost or is older than a power failure.
  // Comes again like release().
  virtual Task<Status> adopt(ResourceDevice device, PodContainer holder) = 0;

  // The kubelet offers none of the healthy devices that it was sent: register again.
  virtual void lost(const std::string& resource) = 0;
  // Send the kubelet the list once more though nothing has changed: it writes its checkpoint with every list, and that
  // ends a doubt about a device of a pod that has ended.
  virtual void resend(const std::string& resource) = 0;
};

}  // namespace cardcage
