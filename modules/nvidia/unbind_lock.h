// Keeps a GPU from being opened while it is taken from NVIDIA's driver. The driver's remove() waits, for ever and
// inside the kernel, until nobody has the GPU open; with the lock nobody has it and nobody can.
//
// Source: nv_procfs_close_unbind_lock in kernel-open/nvidia/nv-procfs.c, nv_pci_remove_helper in nv-pci.c.
#pragma once

#include <cardcage/sdk.hpp>
#include <string>

#include "modules/nvidia/node.h"

namespace cardcage::nvidia {

class UnbindLock {
 public:
  // `uuid` is that of the device to which the hardware belongs.
  UnbindLock(const Node& node, cage::Host host, std::string uuid, std::string bus_id);

  // Does nothing if the driver does not have the GPU, or is older than the lock. Throws cage::Error with who has the
  // GPU open.
  void take(const cage::Call& call) const;
  void give_back(const cage::Call& call) const noexcept;

 private:
  std::string who_has_it_open() const;

  const Node& node_;
  cage::Host host_;
  const std::string uuid_, bus_id_;
  const std::filesystem::path file_;
};

}  // namespace cardcage::nvidia
