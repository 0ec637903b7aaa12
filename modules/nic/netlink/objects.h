// The addresses, routes and permanent neighbours of an interface. Each object is kept as the kernel's message about it,
// so that no attribute is lost when it is created again.
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
  std::vector<std::string> addresses, routes, neighbours;  // bytes of the type's header and the attributes

  friend bool operator==(const NetworkObjects&, const NetworkObjects&) = default;
};

// Reads the objects that an administrator or a DHCP client has made, without those of the kernel itself or a routing
// daemon. Routes with several next hops are left out. Throws std::system_error.
NetworkObjects read_objects(NetlinkSocket& socket, std::uint32_t index);

// Returns the addresses of global scope of all interfaces that come from an administrator or DHCP for IPv4, by the
// index of the interface. Throws std::system_error.
std::multimap<std::uint32_t, Address> global_addresses(NetlinkSocket& socket);

// Returns the objects for a pod whose interface inherits them: addresses of global scope that never expire, routes of
// the main table, and neighbours.
NetworkObjects inherited(const NetworkObjects& of_node);

// Returns an address in the form of read_objects().
std::string object_of(const Address& address);
// Returns the address of such an object.
Address address_of(const std::string& object);

// Creates the object at the interface with this index, which may be another one. Does nothing if it exists. Throws
// std::system_error, which names the address. An IPv6 address is usable at once: the kernel does not look for
// duplicates.
void add_address(NetlinkSocket& socket, std::uint32_t index, const std::string& object);
// Removes the IPv4 addresses, whose labels follow the passing name of the interface. Throws std::system_error.
void remove_addresses(NetlinkSocket& socket, std::uint32_t index);
void add_route(NetlinkSocket& socket, std::uint32_t index, const std::string& object);
void add_neighbour(NetlinkSocket& socket, std::uint32_t index, const std::string& object);

}  // namespace cardcage::nic
