// Resets a PCI function between its users, so that no data of one reaches the next.
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

  // Returns whether the kernel resets this function alone (function level reset), and not its whole bus. Linux before
  // 5.15 does not tell how it resets; each virtual function has such a reset (Single Root I/O
  // Virtualization 1.1, 2.2.2).
  bool can_reset(const std::string& bus_id) const;
  // Resets the function while it has no driver, since a reset may wait forever for a driver that uses it. Then
  // restores the driver that the function had before a claim changed it. Throws cage::Error, CAGE_PERMISSION_DENIED if
  // the operator forbids resets.
  void reset(const cage::Call& call, std::string_view device, const std::string& bus_id) const;
  // Has the driver look at the function again, as if it had come just now. Throws as reset() does.
  void bind_anew(const cage::Call& call, std::string_view device, const std::string& bus_id) const;

 private:
  const cage::Host host_;
  const std::filesystem::path sysfs_;
};

}  // namespace cardcage::hardware
