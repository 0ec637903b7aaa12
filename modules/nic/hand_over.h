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

namespace cardcage::nic {

class HandOver {
 public:
  HandOver(cage::Host host, hardware::Node node) : host_(host), node_(std::move(node)) {}

  // Does nothing that is done already. If it fails, the interface is on the node as it was. Throws cage::Error.
  void attach(const KeptInterface& kept, const Settings& settings, std::string_view claim_uid,
              const cage::Pod& pod) const;
  // Does nothing for an interface that is not in the pod. Throws cage::Error.
  void detach(const KeptInterface& kept, std::string_view claim_uid, const cage::Pod& pod) const;
  // Restores one that is back on the node by itself, because its namespace has ended; waits a moment for that. Throws
  // cage::Error.
  void restore(const cage::Call& call, const KeptInterface& kept, std::string_view claim_uid) const;
  // The same for one without the mark, which the driver of its PCI function has made anew, or a container runtime has
  // moved. Throws cage::Error.
  void restore_by_function(const cage::Call& call, const KeptInterface& kept) const;

 private:
  void try_to_put_back(const KeptInterface& kept, const Mark& mark, NetlinkSocket& pod, NetlinkSocket& node,
                       int network_namespace) const;
  void put_back(const KeptInterface& kept, const Mark& mark, NetlinkSocket& pod, NetlinkSocket& node,
                int network_namespace) const;

  const cage::Host host_;
  const hardware::Node node_;
};

}  // namespace cardcage::nic
