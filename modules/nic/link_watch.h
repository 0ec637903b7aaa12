// Tells when interfaces come, go, or change their state: those with hardware, and others that are offered; and when the
// node begins or ends to use one. A node makes and removes two interfaces for most pods, which are of no interest.
#pragma once

#include <cardcage/sdk.hpp>
#include <optional>
#include <string>
#include <vector>

#include "modules/nic/netlink/socket.h"

namespace cardcage::nic {

class LinkWatch {
 public:
  // `interfaces` are patterns with * and ?, of interfaces without hardware.
  LinkWatch(cage::Host host, std::vector<std::string> interfaces) : host_(host), interfaces_(std::move(interfaces)) {}

  // In the module's start(). Throws cage::Error or std::system_error.
  void start();
  // In its stop().
  void stop();
  // In its events(), for each event: whether an interface has changed.
  bool take(const cage::Event& event);

 private:
  bool is_ours(const nlmsghdr& message) const;

  const cage::Host host_;
  const std::vector<std::string> interfaces_;
  std::optional<NetlinkSocket> socket_;
};

}  // namespace cardcage::nic
