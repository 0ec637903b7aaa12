// Makes a switch of Open vSwitch in the kernel, without its daemons: ovs-vswitchd makes the same requests.
//
// Source: include/uapi/linux/openvswitch.h and genetlink.h of the kernel.
#pragma once

#include <linux/genetlink.h>
#include <linux/openvswitch.h>
#include <net/if.h>

#include <string>

#include "modules/nic/netlink/socket.h"

namespace cardcage {

class OpenVswitch {
 public:
  // ovs-vswitchd's datapath is called ovs-system, whatever its bridges. All functions here throw std::system_error.
  explicit OpenVswitch(std::string name = "ovs-system") : name_(std::move(name)) {
    execute(OVS_DATAPATH_FAMILY, OVS_DP_CMD_NEW, [this](nlmsghdr& message) {
      mnl_attr_put_strz(&message, OVS_DP_ATTR_NAME, name_.c_str());
      mnl_attr_put_u32(&message, OVS_DP_ATTR_UPCALL_PID, 0);
    });
  }
  OpenVswitch(const OpenVswitch&) = delete;
  OpenVswitch& operator=(const OpenVswitch&) = delete;
  ~OpenVswitch() {
    execute(OVS_DATAPATH_FAMILY, OVS_DP_CMD_DEL,
            [this](nlmsghdr& message) { mnl_attr_put_strz(&message, OVS_DP_ATTR_NAME, name_.c_str()); });
  }

  void add_port(const std::string& interface) {
    execute(
        OVS_VPORT_FAMILY, OVS_VPORT_CMD_NEW,
        [&](nlmsghdr& message) {
          mnl_attr_put_u32(&message, OVS_VPORT_ATTR_TYPE, OVS_VPORT_TYPE_NETDEV);
          mnl_attr_put_strz(&message, OVS_VPORT_ATTR_NAME, interface.c_str());
          mnl_attr_put_u32(&message, OVS_VPORT_ATTR_UPCALL_PID, 0);
        },
        static_cast<int>(::if_nametoindex(name_.c_str())));
  }

 private:
  using Build = nic::NetlinkSocket::Build;

  static void put_command(nlmsghdr& message, std::uint8_t command) {
    auto& header = *static_cast<genlmsghdr*>(mnl_nlmsg_put_extra_header(&message, sizeof(genlmsghdr)));
    header.cmd = command;
    header.version = 1;
  }
  std::uint16_t family(const char* name) {
    std::uint16_t number = 0;
    const Build with_name = [&](nlmsghdr& message) {
      put_command(message, CTRL_CMD_GETFAMILY);
      mnl_attr_put_strz(&message, CTRL_ATTR_FAMILY_NAME, name);
    };
    socket_.get(GENL_ID_CTRL, with_name, [&number](const nlmsghdr& message) {
      nic::for_each_attribute(message, sizeof(genlmsghdr), [&number](const nlattr& attribute) {
        if (mnl_attr_get_type(&attribute) == CTRL_ATTR_FAMILY_ID) number = mnl_attr_get_u16(&attribute);
      });
    });
    return number;
  }
  void execute(const char* family_name, std::uint8_t command, const Build& attributes, int datapath = 0) {
    socket_.change(family(family_name), 0, [&](nlmsghdr& message) {
      put_command(message, command);
      static_cast<ovs_header*>(mnl_nlmsg_put_extra_header(&message, sizeof(ovs_header)))->dp_ifindex = datapath;
      attributes(message);
    });
  }

  const std::string name_;
  nic::NetlinkSocket socket_{nic::NetlinkSocket::Protocol::kGeneric};
};

}  // namespace cardcage
