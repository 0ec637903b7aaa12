#include "modules/nic/netlink/rdma_devices.h"

#include <rdma/rdma_netlink.h>

namespace cardcage::nic {
namespace {

constexpr std::uint16_t type_of(unsigned command) {
  return static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
}

}  // namespace

bool RdmaDevices::are_exclusive() {
  bool are_shared = true;
  socket_.get(
      type_of(RDMA_NLDEV_CMD_SYS_GET), [](nlmsghdr&) {},
      [&](const nlmsghdr& message) {
        for_each_attribute(message, 0, [&](const nlattr& attribute) {
          if (mnl_attr_get_type(&attribute) == RDMA_NLDEV_SYS_ATTR_NETNS_MODE)
            are_shared = mnl_attr_get_u8(&attribute) != 0;
        });
      });
  return !are_shared;
}

std::vector<RdmaDevice> RdmaDevices::all() {
  std::vector<RdmaDevice> devices;
  socket_.dump(
      type_of(RDMA_NLDEV_CMD_GET), [](nlmsghdr&) {},
      [&](const nlmsghdr& message) {
        RdmaDevice device;
        for_each_attribute(message, 0, [&](const nlattr& attribute) {
          if (mnl_attr_get_type(&attribute) == RDMA_NLDEV_ATTR_DEV_INDEX) device.index = mnl_attr_get_u32(&attribute);
          if (mnl_attr_get_type(&attribute) == RDMA_NLDEV_ATTR_DEV_NAME) device.name = mnl_attr_get_str(&attribute);
        });
        devices.push_back(std::move(device));
      });
  return devices;
}

void RdmaDevices::move(std::uint32_t index, int network_namespace) {
  socket_.change(type_of(RDMA_NLDEV_CMD_SET), 0, [&](nlmsghdr& message) {
    mnl_attr_put_u32(&message, RDMA_NLDEV_ATTR_DEV_INDEX, index);
    mnl_attr_put_u32(&message, RDMA_NLDEV_NET_NS_FD, static_cast<std::uint32_t>(network_namespace));
  });
}

void RdmaDevices::rename(std::uint32_t index, const std::string& name) {
  socket_.change(type_of(RDMA_NLDEV_CMD_SET), 0, [&](nlmsghdr& message) {
    mnl_attr_put_u32(&message, RDMA_NLDEV_ATTR_DEV_INDEX, index);
    mnl_attr_put_strz(&message, RDMA_NLDEV_ATTR_DEV_NAME, name.c_str());
  });
}

}  // namespace cardcage::nic
