// Reads and changes the RDMA devices of a network namespace through RDMA netlink.
//
// Source: include/uapi/rdma/rdma_netlink.h and drivers/infiniband/core/{nldev,device}.c of the kernel; rdma-system(8).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "modules/nic/netlink/socket.h"

namespace cardcage::nic {

struct RdmaDevice {
  std::uint32_t index = 0;  // the same in each namespace, while its driver is bound
  std::string name;         // "mlx5_0"; unique on the machine
  friend bool operator==(const RdmaDevice&, const RdmaDevice&) = default;
};

// The kernel uses the namespace of the calling thread, so only the thread that made an object may use it.
class RdmaDevices {
 public:
  // Throws std::system_error, as all functions here: EPROTONOSUPPORT if the kernel has no RDMA.
  RdmaDevices() = default;

  // Returns whether each device is in one namespace (rdma system set netns exclusive), and not in all. EINVAL before
  // Linux 5.3.
  bool are_exclusive();
  std::vector<RdmaDevice> all();
  // Moves a device: EOPNOTSUPP if the driver cannot. The kernel recreates the nodes of the device.
  void move(std::uint32_t index, int network_namespace);
  void rename(std::uint32_t index, const std::string& name);

 private:
  NetlinkSocket socket_{NetlinkSocket::Protocol::kRdma};
};

}  // namespace cardcage::nic
