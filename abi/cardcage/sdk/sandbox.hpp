// SPDX-License-Identifier: Apache-2.0
// The pod that attach() and detach() are for. Included by sdk.hpp.
#ifndef CARDCAGE_SDK_SANDBOX_HPP_
#define CARDCAGE_SDK_SANDBOX_HPP_

#include <cardcage/sdk/text.hpp>

#include <string_view>

namespace cage {

// A pod whose sandbox exists. The descriptors are open during the call: duplicate what must stay open.
class Pod {
 public:
  explicit Pod(const cage_pod* raw) : raw_(raw) {}

  std::string_view uid() const { return detail::view(raw_->uid); }
  std::string_view name_space() const { return detail::view(raw_->name_space); }
  std::string_view name() const { return detail::view(raw_->name); }
  // A descriptor of its network namespace, which is never the node's.
  int network_namespace() const { return raw_->network_namespace; }
  // A path of the namespace on the node, for programs; empty if the container runtime did not report it.
  std::string_view network_namespace_path() const { return detail::view(raw_->network_namespace_path); }
  // A NETLINK_ROUTE socket in there, for modules that may not call setns(2).
  int route_socket() const { return raw_->route_socket; }

 private:
  const cage_pod* raw_;
};

}  // namespace cage

#endif  // CARDCAGE_SDK_SANDBOX_HPP_
