// Restores an interface that is back on the node to its former state.
#pragma once

#include <cardcage/sdk.hpp>
#include <string>

#include "modules/nic/kept_interface.h"

namespace cardcage::nic {

// How restore_link() handles an address, route, neighbour or name that the kernel refuses.
enum class Refused {
  kFails,  // restore_link() throws, and is called again
  kIsLogged,
};

// Undoes every step of a move, and what a pod has changed; does nothing that is done already. The alias comes last:
// until then the interface counts as the claim's. Throws std::system_error, and cage::Error if another interface has
// the name by now.
void restore_link(cage::Host host, const hardware::Node& paths, NetlinkSocket& node, const Link& link,
                  const KeptInterface& kept, const std::string& name, Refused refused);

}  // namespace cardcage::nic
