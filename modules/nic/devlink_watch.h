// Tells when a driver reports that a part of its card has failed or recovered.
#pragma once

#include <cardcage/sdk.hpp>
#include <optional>

#include "modules/nic/netlink/devlink.h"

namespace cardcage::nic {

class DevlinkWatch {
 public:
  explicit DevlinkWatch(cage::Host host) : host_(host) {}

  // In the module's start(). Nothing is ever told if the kernel has no devlink. Throws cage::Error.
  void start();
  // In its stop().
  void stop();
  // In its events(), for each event: whether a reporter has changed.
  bool take(const cage::Event& event);

 private:
  const cage::Host host_;
  std::optional<Devlink> devlink_;
};

}  // namespace cardcage::nic
