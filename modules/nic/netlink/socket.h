// A netlink socket of the kernel, in the network namespace of the thread that made it.
//
// Source: netlink(7), rtnetlink(7), Documentation/userspace-api/netlink/intro.rst of the kernel.
#pragma once

#include <libmnl/libmnl.h>
#include <linux/netlink.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cardcage::nic {

class NetlinkSocket {
 public:
  using OnMessage = std::function<void(const nlmsghdr& message)>;

  using Build = std::function<void(nlmsghdr& message)>;

  enum class Protocol { kRoute = NETLINK_ROUTE, kGeneric = NETLINK_GENERIC, kRdma = NETLINK_RDMA };
  // Throws std::system_error.
  explicit NetlinkSocket(Protocol protocol = Protocol::kRoute);
  // Uses the socket of a descriptor, which the caller keeps and which may be in another namespace. Throws
  // std::system_error.
  explicit NetlinkSocket(int descriptor);

  // Joins a group, such as RTNLGRP_LINK. Throws std::system_error.
  void join(int group);
  int descriptor() const { return mnl_socket_get_fd(socket_.get()); }

  // Requests all objects of a kind, such as RTM_GETROUTE. If the kernel reports that they changed during the dump, it
  // is repeated a few times, and `on_message` gets only the objects of the last one. Throws std::system_error.
  void dump(std::uint16_t type, std::uint8_t family, const OnMessage& on_message);
  // Does the same with a request that `build` makes as for change().
  void dump(std::uint16_t type, const Build& build, const OnMessage& on_message);
  // Requests one object, such as an interface with RTM_GETLINK; `build` as for change(). Throws std::system_error.
  void get(std::uint16_t type, const Build& build, const OnMessage& on_message);
  // Makes one change, such as RTM_NEWADDR. `build` appends the header of the type and the attributes, at most 4 KiB.
  // Throws std::system_error with the kernel's error.
  void change(std::uint16_t type, std::uint16_t flags, const Build& build);
  // Receives the messages of joined groups, without waiting. Returns false if the kernel had to drop messages.
  bool receive(const OnMessage& on_message);

 private:
  // Appends the messages of a dump; returns false if the objects changed during it.
  bool read_dump(std::vector<std::string>& messages);
  void request(std::uint16_t type, int flags, const Build& build, const OnMessage& on_message);

  struct Close {
    void operator()(mnl_socket* socket) const { mnl_socket_close(socket); }
  };
  std::unique_ptr<mnl_socket, Close> socket_;
  unsigned sequence_ = 0;
};

// Visits the attributes of a message, which follow a header of `offset` bytes.
void for_each_attribute(const nlmsghdr& message, std::size_t offset,
                        const std::function<void(const nlattr& attribute)>& action);

// Visits the attributes inside an attribute.
void for_each_nested(const nlattr& attribute, const std::function<void(const nlattr& nested)>& action);

}  // namespace cardcage::nic
