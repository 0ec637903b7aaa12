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
  // The same socket as the descriptor's, which stays the caller's: in another namespace, perhaps. Throws
  // std::system_error.
  explicit NetlinkSocket(int descriptor);

  // Joins a group, such as RTNLGRP_LINK. Throws std::system_error.
  void join(int group);
  int descriptor() const { return mnl_socket_get_fd(socket_.get()); }

  // Asks for all objects of a kind, such as RTM_GETROUTE. The kernel may change them meanwhile, and says so: then it is
  // asked anew, a few times, and `on_message` gets the objects of the last time alone. Throws std::system_error.
  void dump(std::uint16_t type, std::uint8_t family, const OnMessage& on_message);
  // The same; `build` as for change().
  void dump(std::uint16_t type, const Build& build, const OnMessage& on_message);
  // Asks for one object, such as an interface with RTM_GETLINK; `build` as for change(). Throws std::system_error.
  void get(std::uint16_t type, const Build& build, const OnMessage& on_message);
  // Makes one change, such as RTM_NEWADDR. `build` appends the header of the type and the attributes, at most 4 KiB.
  // Throws std::system_error with what the kernel answers.
  void change(std::uint16_t type, std::uint16_t flags, const Build& build);
  // What groups have sent, without waiting. Returns false if the kernel had to leave messages out.
  bool receive(const OnMessage& on_message);

 private:
  // Appends the messages of a dump; returns false if the objects changed meanwhile.
  bool read_dump(std::vector<std::string>& messages);
  void request(std::uint16_t type, int flags, const Build& build, const OnMessage& on_message);

  struct Close {
    void operator()(mnl_socket* socket) const { mnl_socket_close(socket); }
  };
  std::unique_ptr<mnl_socket, Close> socket_;
  unsigned sequence_ = 0;
};

// The attributes of a message, which follow a header of the size `offset`.
void for_each_attribute(const nlmsghdr& message, std::size_t offset,
                        const std::function<void(const nlattr& attribute)>& action);

// Those inside an attribute.
void for_each_nested(const nlattr& attribute, const std::function<void(const nlattr& nested)>& action);

}  // namespace cardcage::nic
