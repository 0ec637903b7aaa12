// Moves the interface of a device to a pod, and back.
//
// A move has many steps, and may stop after each of them. restore_link() undoes all steps that were done.
#pragma once

#include <cardcage/sdk.hpp>
#include <functional>
#include <string>

#include "modules/common/node.h"
#include "modules/nic/kept_interface.h"
#include "modules/nic/mark.h"
#include "modules/nic/settings.h"
#include "modules/nic/udev.h"

namespace cardcage::nic {

// The origin of an interface that has no mark.
enum class Origin {
  kPod,     // a pod may have changed the interface
  kDriver,  // the driver has just made it; its alternative names are udev's, and stay
};

// Requests addresses for an interface that is up in the pod. Throws cage::Error.
using LeaseInPod = std::function<LeasedNetwork()>;

class HandOver {
 public:
  HandOver(cage::Host host, hardware::Node node, Udev udev)
      : host_(host), node_(std::move(node)), udev_(std::move(udev)) {}

  // Moves the interface to the pod, and skips steps that are done already. Calls `lease`, if there is one, unless the
  // interface has an address. If it fails, the interface is on the node as it was. Throws cage::Error.
  void attach(const KeptInterface& kept, const Settings& settings, std::string_view claim_uid, const cage::Pod& pod,
              const LeaseInPod& lease = nullptr) const;
  // Takes the interface back. Does nothing if it is not in the pod. Throws cage::Error.
  void detach(const KeptInterface& kept, std::string_view claim_uid, const cage::Pod& pod) const;
  // Restores an interface that the kernel has returned to the node because its namespace has ended; waits a moment for
  // that. Throws cage::Error.
  void restore(const cage::Call& call, const KeptInterface& kept, std::string_view claim_uid) const;
  // Does the same for an interface without the mark, by its PCI function. Waits until udev has named it. Throws
  // cage::Error.
  void restore_by_function(const cage::Call& call, const KeptInterface& kept, Origin origin) const;
  // Returns the interface with the name that it has on the node now, unless its driver has recreated it: it may have
  // been renamed since it was kept. Throws cage::Error.
  KeptInterface under_present_name(KeptInterface kept) const;

 private:
  void try_to_put_back(const KeptInterface& kept, const Mark& mark, NetlinkSocket& pod, NetlinkSocket& node,
                       int network_namespace) const;
  void put_back(const KeptInterface& kept, const Mark& mark, NetlinkSocket& pod, NetlinkSocket& node,
                int network_namespace) const;

  const cage::Host host_;
  const hardware::Node node_;
  const Udev udev_;
};

}  // namespace cardcage::nic
