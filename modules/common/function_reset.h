// Resets a PCI function between those that use it, so that nothing of one reaches the next.
//
// Source: Documentation/ABI/testing/sysfs-bus-pci of the kernel (reset, reset_method).
#pragma once

#include <cardcage/sdk.hpp>
#include <filesystem>
#include <string>
#include <string_view>

namespace cardcage::hardware {

class FunctionReset {
 public:
  FunctionReset(cage::Host host, std::filesystem::path sysfs) : host_(host), sysfs_(std::move(sysfs)) {}

  // Whether the kernel resets this function alone (function level reset), and not its whole bus.
  bool can_reset(const std::string& bus_id) const;
  // Without a driver, since a reset may wait for ever for one that uses the function. Then the function gets the driver
  // that it had before a claim changed it. Throws cage::Error, CAGE_PERMISSION_DENIED if the operator allows no reset.
  void reset(const cage::Call& call, std::string_view device, const std::string& bus_id) const;

 private:
  const cage::Host host_;
  const std::filesystem::path sysfs_;
};

}  // namespace cardcage::hardware
