// Recognizes the interface of a claim in any namespace, whatever a pod has changed.
//
// The alias names the claim and the device, for people and for older kernels. A pod with CAP_NET_ADMIN can change the
// alias but not the index, which is a hash of the same text. So a late release of one claim does not touch the next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "modules/nic/kept_interface.h"

namespace cardcage::nic {

class Mark {
 public:
  Mark(const KeptInterface& kept, std::string_view claim_uid);

  // Returns the alias for the interface, whose name on the node is `name` now.
  std::string alias(const std::string& name) const;
  bool is_alias(const std::string& alias) const;
  // Returns the index of the interface in the pod.
  std::uint32_t index() const { return index_; }

  // Both throw std::system_error. find_on_node() returns nothing if the interface was in no pod.
  std::optional<Link> find_in_pod(NetlinkSocket& pod) const;
  std::optional<Link> find_on_node(NetlinkSocket& node) const;

  // Returns the name that a marked interface had on the node.
  std::string name_before(const Link& link) const;

 private:
  std::optional<Link> find_marked(const std::vector<Link>& links) const;

  std::string text_, name_, alias_before_, mac_before_;
  std::string function_;             // empty without a PCI function
  bool has_sole_interface_ = false;  // the function has no other interface
  std::uint32_t index_ = 0;
};

}  // namespace cardcage::nic
