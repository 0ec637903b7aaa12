// A network namespace of the calling thread's own, whose uevents are those that a test sends: the kernel broadcasts
// them there as its own, so libudev and the daemon's reader accept them. Sockets that the thread opens, and processes
// that it starts, are inside.
//
// Source: lib/kobject_uevent.c of Linux, uevent_net_rcv_skb(): accepts messages from processes that have CAP_SYS_ADMIN
// over the namespace, and appends SEQNUM.
#pragma once

#include <linux/netlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "host/core/unique_fd.h"
#include "tests/fakes/network_namespace.h"

namespace cardcage {

class UeventNamespace {
 public:
  UeventNamespace() {
    if (!network_.works()) return;
    socket_ = UniqueFd(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT));
  }
  // False without the privilege.
  bool works() const { return static_cast<bool>(socket_); }

  // send("add", "/devices/pci0000:3a/0000:3b:00.0", "pci", {"PCI_SLOT_NAME=0000:3b:00.0"}) returns an errno.
  // [any-thread]
  int send(const std::string& action, const std::string& device, const std::string& subsystem,
           const std::vector<std::string>& properties = {}) const {
    std::string event = action + "@" + device + '\0';
    event += "ACTION=" + action + '\0' + "DEVPATH=" + device + '\0' + "SUBSYSTEM=" + subsystem + '\0';
    for (const std::string& property : properties) event += property + '\0';
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(sizeof header + event.size());
    header.nlmsg_type = NLMSG_MIN_TYPE;
    header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    const std::string message = std::string(reinterpret_cast<const char*>(&header), sizeof header) + event;
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    if (::sendto(socket_.get(), message.data(), message.size(), 0, reinterpret_cast<const sockaddr*>(&kernel),
                 sizeof kernel) < 0)
      return errno;
    struct {
      nlmsghdr header;
      nlmsgerr error;
      std::array<char, 4096> rest;
    } reply{};
    if (::recv(socket_.get(), &reply, sizeof reply, 0) < static_cast<ssize_t>(sizeof reply.header + sizeof(int)))
      return EPROTO;
    return -reply.error.error;
  }

 private:
  const NetworkNamespace network_;
  UniqueFd socket_;
};

}  // namespace cardcage
