// Tells whether udev has named an interface. The kernel gives a new interface a name of its own, such as eth0, and udev
// renames it a moment later, by the link files and rules of the node.
//
// Source: sd_device_get_is_initialized(3), systemd.link(5), and the files of the database in /run/udev/data.
#pragma once

#include <cardcage/sdk.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>

#include "modules/nic/netdev.h"

namespace cardcage::nic {

// [any-thread]
class Udev {
 public:
  // `folder` is "/run/udev". If it has no socket `control`, the node has no udev, or the daemon does not see it: then
  // every interface counts as named.
  Udev(cage::Host host, std::filesystem::path folder, std::chrono::milliseconds limit = std::chrono::seconds(5))
      : host_(host), folder_(std::move(folder)), limit_(limit) {}

  bool has_named(std::uint64_t index) const;
  // Waits until udev has named the interface or the limit has passed, which is logged. Throws cage::Error if the call
  // is cancelled.
  void wait_for_name(const cage::Call& call, const Netdev& netdev) const;

 private:
  const cage::Host host_;
  const std::filesystem::path folder_;
  const std::chrono::milliseconds limit_;
};

}  // namespace cardcage::nic
