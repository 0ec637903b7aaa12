// Keeps a GPU from being opened while it is taken from NVIDIA's driver. The driver's remove() waits, forever and inside
// the kernel, until no process has the GPU open; with the lock, no process has it open or can open it.
//
// Source: nv_procfs_close_unbind_lock in kernel-open/nvidia/nv-procfs.c, nv_pci_remove_helper in nv-pci.c.
#pragma once

#include <cardcage/sdk.hpp>
#include <string>

#include "modules/nvidia/node.h"

namespace cardcage::nvidia {

class UnbindLock {
 public:
  // `uuid` is the UUID of the device that the hardware belongs to.
  UnbindLock(const Node& node, cage::Host host, std::string uuid, std::string bus_id);

  // Does nothing if the driver does not have the GPU, or is older than the lock. Throws cage::Error that names the
  // processes that have the GPU open.
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
