// Tells when a driver reports that a part of its card has failed or recovered.
#pragma once

#include <cardcage/sdk.hpp>
#include <optional>

#include "modules/nic/netlink/devlink.h"

namespace cardcage::nic {

class DevlinkWatch {
 public:
  explicit DevlinkWatch(cage::Host host) : host_(host) {}

  // Called in the module's start(). No change is ever told if the kernel has no devlink. Throws cage::Error.
  void start();
  // Called in the module's stop().
  void stop();
  // Called in the module's events() for each event. Returns whether a reporter has changed.
  bool take(const cage::Event& event);

 private:
  const cage::Host host_;
  std::optional<Devlink> devlink_;
};

}  // namespace cardcage::nic
