// The addresses, routes and permanent neighbours of an interface. Each is kept as the message in which the kernel
// describes it, so that no attribute is lost when it is created again.
//
// Source: rtnetlink(7), include/uapi/linux/if_addr.h, rtnetlink.h and neighbour.h of the kernel.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "modules/nic/netlink/addresses.h"
#include "modules/nic/netlink/socket.h"

namespace cardcage::nic {

struct NetworkObjects {
  std::vector<std::string> addresses, routes, neighbours;  // the header of the type and the attributes, as bytes

  friend bool operator==(const NetworkObjects&, const NetworkObjects&) = default;
};

// Those that an administrator or a DHCP client has made, and not those that the kernel makes by itself or a routing
// daemon brings. Routes with several next hops are left out. Throws std::system_error.
NetworkObjects read_objects(NetlinkSocket& socket, std::uint32_t index);

// The addresses of all interfaces that an administrator has given or DHCP for IPv4 has, by the index of the interface,
// and that hold beyond the link. Throws std::system_error.
std::multimap<std::uint32_t, Address> global_addresses(NetlinkSocket& socket);

// Those for a pod whose interface inherits them: addresses that hold beyond the link and never expire, routes of the
// main table, and neighbours.
NetworkObjects inherited(const NetworkObjects& of_node);

// An address as read_objects() would return it.
std::string object_of(const Address& address);
// The address of such an object.
Address address_of(const std::string& object);

// Makes them, for another interface if its index is another. Does nothing for those that are there. Throws
// std::system_error, which names the address. One of IPv6 is used at once: nobody looks for duplicates.
void add_address(NetlinkSocket& socket, std::uint32_t index, const std::string& object);
// Those of IPv4: their labels follow a name of the interface that passes. Throws std::system_error.
void remove_addresses(NetlinkSocket& socket, std::uint32_t index);
void add_route(NetlinkSocket& socket, std::uint32_t index, const std::string& object);
void add_neighbour(NetlinkSocket& socket, std::uint32_t index, const std::string& object);

}  // namespace cardcage::nic
