// Moves the interface of a device to a pod, and back.
//
// A move has many steps, and may end after each of them. restore_link() undoes all of them, whichever were done.
#pragma once

#include <cardcage/sdk.hpp>
#include <string>

#include "modules/common/node.h"
#include "modules/nic/kept_interface.h"
#include "modules/nic/mark.h"
#include "modules/nic/settings.h"
#include "modules/nic/udev.h"

namespace cardcage::nic {

// The origin of an interface that has no mark.
enum class Origin {
  kPod,     // may have changed it
  kDriver,  // has just made it, so its alternative names are udev's, and stay
};

class HandOver {
 public:
  HandOver(cage::Host host, hardware::Node node, Udev udev)
      : host_(host), node_(std::move(node)), udev_(std::move(udev)) {}

  // Does nothing that is done already. If it fails, the interface is on the node as it was. Throws cage::Error.
  void attach(const KeptInterface& kept, const Settings& settings, std::string_view claim_uid,
              const cage::Pod& pod) const;
  // Does nothing for an interface that is not in the pod. Throws cage::Error.
  void detach(const KeptInterface& kept, std::string_view claim_uid, const cage::Pod& pod) const;
  // Restores one that is back on the node by itself, because its namespace has ended; waits a moment for that. Throws
  // cage::Error.
  void restore(const cage::Call& call, const KeptInterface& kept, std::string_view claim_uid) const;
  // The same for one without the mark, by its PCI function. Waits until udev has named it. Throws cage::Error.
  void restore_by_function(const cage::Call& call, const KeptInterface& kept, Origin origin) const;
  // The interface under the name that it has on the node now, unless its driver has made it anew: it may have been
  // renamed since it was kept. Throws cage::Error.
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
