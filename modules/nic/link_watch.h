// Tells when interfaces with hardware, and others that are offered, come, go, or change their state, and when the node
// begins or ends to use one. A node makes and removes two more interfaces for most pods; those do not count.
#pragma once

#include <cardcage/sdk.hpp>
#include <optional>
#include <string>
#include <vector>

#include "modules/nic/netlink/socket.h"

namespace cardcage::nic {

class LinkWatch {
 public:
  // `interfaces` has patterns with * and ? for interfaces without hardware.
  LinkWatch(cage::Host host, std::vector<std::string> interfaces) : host_(host), interfaces_(std::move(interfaces)) {}

  // Called in the module's start(). Throws cage::Error or std::system_error.
  void start();
  // Called in the module's stop().
  void stop();
  // Called in the module's events() for each event. Returns whether an interface has changed.
  bool take(const cage::Event& event);

 private:
  bool is_ours(const nlmsghdr& message) const;

  const cage::Host host_;
  const std::vector<std::string> interfaces_;
  std::optional<NetlinkSocket> socket_;
};

}  // namespace cardcage::nic
