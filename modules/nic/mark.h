// How the interface of a claim is recognized, wherever it is and whatever a pod has made of it.
//
// The alias names the claim and the device, for people and for kernels that know no better. A pod with CAP_NET_ADMIN
// can change it, and not the index, which is made of the same text. So a late release of one claim touches nothing of
// the next.
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

  // For the interface, which has that name on the node now.
  std::string alias(const std::string& name) const;
  bool is_alias(const std::string& alias) const;
  // That it has in the pod.
  std::uint32_t index() const { return index_; }

  // Throw std::system_error. On the node it finds nothing if the interface was in no pod.
  std::optional<Link> find_in_pod(NetlinkSocket& pod) const;
  std::optional<Link> find_on_node(NetlinkSocket& node) const;

  // The name that a marked interface had on the node.
  std::string name_before(const Link& link) const;

 private:
  std::optional<Link> find_marked(const std::vector<Link>& links) const;

  std::string text_, name_, alias_before_, mac_before_;
  std::string function_;             // empty without one
  bool has_sole_interface_ = false;  // of the function
  std::uint32_t index_ = 0;
};

}  // namespace cardcage::nic
