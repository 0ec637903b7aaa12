#include "modules/nic/netlink/objects.h"

#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

namespace cardcage::nic {
namespace {

constexpr std::array kProtocols{RTPROT_BOOT, RTPROT_STATIC, RTPROT_DHCP};

// A message of the kernel that an object was read from, with access to its parts.
template <class Header>
class Object {
 public:
  explicit Object(const std::string& bytes) : buffer_(NLMSG_HDRLEN + bytes.size()) {
    if (bytes.size() < sizeof(Header)) throw std::system_error(EBADMSG, std::generic_category(), "a kept object");
    mnl_nlmsg_put_header(buffer_.data())->nlmsg_len = static_cast<std::uint32_t>(buffer_.size());
    std::memcpy(buffer_.data() + NLMSG_HDRLEN, bytes.data(), bytes.size());
  }
  const Header& header() const { return *reinterpret_cast<const Header*>(buffer_.data() + NLMSG_HDRLEN); }
  template <class Action>
  void for_each(const Action& action) const {
    for_each_attribute(*reinterpret_cast<const nlmsghdr*>(buffer_.data()), sizeof(Header), action);
  }
  bool has(int type) const {
    bool found = false;
    for_each([&](const nlattr& attribute) { found = found || mnl_attr_get_type(&attribute) == type; });
    return found;
  }
  std::uint32_t number(int type, std::uint32_t otherwise) const {
    for_each([&](const nlattr& attribute) {
      if (mnl_attr_get_type(&attribute) == type) otherwise = mnl_attr_get_u32(&attribute);
    });
    return otherwise;
  }

 private:
  std::vector<char> buffer_;
};
using AddressObject = Object<ifaddrmsg>;
using RouteObject = Object<rtmsg>;
using NeighbourObject = Object<ndmsg>;

std::string bytes_of(const nlmsghdr& message) {
  return {static_cast<const char*>(mnl_nlmsg_get_payload(&message)), mnl_nlmsg_get_payload_len(&message)};
}

template <class Header>
void copy_attributes(const Object<Header>& object, std::initializer_list<int> without, nlmsghdr& message) {
  object.for_each([&](const nlattr& attribute) {
    const auto type = mnl_attr_get_type(&attribute);
    if (std::ranges::find(without, static_cast<int>(type)) == without.end())
      mnl_attr_put(&message, type, mnl_attr_get_payload_len(&attribute), mnl_attr_get_payload(&attribute));
  });
}

std::string for_pod(const AddressObject& address) {
  std::vector<char> buffer(MNL_SOCKET_BUFFER_SIZE);
  nlmsghdr& message = *mnl_nlmsg_put_header(buffer.data());
  *static_cast<ifaddrmsg*>(mnl_nlmsg_put_extra_header(&message, sizeof(ifaddrmsg))) = address.header();
  copy_attributes(address, {IFA_CACHEINFO, IFA_LABEL, IFA_FLAGS}, message);
  mnl_attr_put_u32(&message, IFA_FLAGS, address.number(IFA_FLAGS, address.header().ifa_flags) & IFA_F_NOPREFIXROUTE);
  return bytes_of(message);
}

// The kernel creates temporary addresses and those of router advertisements again by itself.
bool is_administrators(const AddressObject& address) {
  return address.header().ifa_family == AF_INET ||
         (address.number(IFA_FLAGS, address.header().ifa_flags) & IFA_F_PERMANENT) != 0;
}

bool is_administrators(const RouteObject& route, std::uint32_t index) {
  const rtmsg& header = route.header();
  return std::ranges::find(kProtocols, header.rtm_protocol) != kProtocols.end() &&
         (header.rtm_flags & RTM_F_CLONED) == 0 && route.number(RTA_OIF, 0) == index && !route.has(RTA_NH_ID);
}

// Calls `action` with each object of a family, and its bytes.
template <class Header, class Action>
void for_each_object(NetlinkSocket& socket, std::uint16_t get, std::uint16_t described, unsigned char family,
                     const Action& action) {
  socket.dump(get, family, [&](const nlmsghdr& message) {
    if (message.nlmsg_type != described) return;
    std::string bytes = bytes_of(message);
    const Object<Header> object(bytes);
    action(object, std::move(bytes));
  });
}

template <class Action>
void for_each_address(NetlinkSocket& socket, unsigned char family, const Action& action) {
  for_each_object<ifaddrmsg>(socket, RTM_GETADDR, RTM_NEWADDR, family, action);
}

// Creates an object. An object that exists already is not an error.
void change_once(NetlinkSocket& socket, std::uint16_t type, std::uint16_t flags,
                 const NetlinkSocket::Build& build) try {
  socket.change(type, static_cast<std::uint16_t>(NLM_F_CREATE | flags), build);
} catch (const std::system_error& error) {
  if (error.code().value() != EEXIST) throw;
}

}  // namespace

NetworkObjects read_objects(NetlinkSocket& socket, std::uint32_t index) {
  NetworkObjects objects;
  for_each_address(socket, AF_UNSPEC, [&](const AddressObject& address, std::string bytes) {
    if (address.header().ifa_index == index && is_administrators(address))
      objects.addresses.push_back(std::move(bytes));
  });
  std::vector<std::string> with_gateway;  // the gateway may need another route to be reachable
  for_each_object<rtmsg>(socket, RTM_GETROUTE, RTM_NEWROUTE, AF_UNSPEC,
                         [&](const RouteObject& route, std::string bytes) {
                           if (is_administrators(route, index))
                             (route.has(RTA_GATEWAY) ? with_gateway : objects.routes).push_back(std::move(bytes));
                         });
  std::ranges::move(with_gateway, std::back_inserter(objects.routes));
  for_each_object<ndmsg>(
      socket, RTM_GETNEIGH, RTM_NEWNEIGH, AF_UNSPEC, [&](const NeighbourObject& neighbour, std::string bytes) {
        const ndmsg& header = neighbour.header();
        if (header.ndm_ifindex == static_cast<int>(index) && (header.ndm_state & NUD_PERMANENT) != 0 &&
            (header.ndm_family == AF_INET || header.ndm_family == AF_INET6))
          objects.neighbours.push_back(std::move(bytes));
      });
  return objects;
}

std::multimap<std::uint32_t, Address> global_addresses(NetlinkSocket& socket) {
  std::multimap<std::uint32_t, Address> found;
  for_each_address(socket, AF_UNSPEC, [&](const AddressObject& address, const std::string& bytes) {
    if (address.header().ifa_scope == RT_SCOPE_UNIVERSE && is_administrators(address))
      found.emplace(address.header().ifa_index, address_of(bytes));
  });
  return found;
}

NetworkObjects inherited(const NetworkObjects& of_node) {
  NetworkObjects objects{.addresses = {}, .routes = {}, .neighbours = of_node.neighbours};
  for (const std::string& bytes : of_node.addresses)
    if (const AddressObject address(bytes); address.header().ifa_scope == RT_SCOPE_UNIVERSE)
      objects.addresses.push_back(for_pod(address));
  std::ranges::copy_if(of_node.routes, std::back_inserter(objects.routes), [](const std::string& bytes) {
    const RouteObject route(bytes);
    return route.number(RTA_TABLE, route.header().rtm_table) == RT_TABLE_MAIN;
  });
  return objects;
}

std::string object_of(const Address& address) {
  std::vector<char> buffer(MNL_SOCKET_BUFFER_SIZE);
  nlmsghdr& message = *mnl_nlmsg_put_header(buffer.data());
  auto& header = *static_cast<ifaddrmsg*>(mnl_nlmsg_put_extra_header(&message, sizeof(ifaddrmsg)));
  header.ifa_family = address.family;
  header.ifa_prefixlen = address.prefix;
  mnl_attr_put(&message, IFA_LOCAL, address.size(), address.bytes.data());
  mnl_attr_put(&message, IFA_ADDRESS, address.size(), address.bytes.data());
  return bytes_of(message);
}

Address address_of(const std::string& object) {
  const AddressObject made(object);
  Address address{.family = made.header().ifa_family, .prefix = made.header().ifa_prefixlen, .bytes = {}};
  bool has_local = false;  // the local address of a point-to-point interface differs from its peer's
  made.for_each([&](const nlattr& attribute) {
    const auto type = mnl_attr_get_type(&attribute);
    if (type != IFA_LOCAL && (type != IFA_ADDRESS || has_local)) return;
    has_local = type == IFA_LOCAL;
    std::memcpy(address.bytes.data(), mnl_attr_get_payload(&attribute),
                std::min<std::size_t>(mnl_attr_get_payload_len(&attribute), address.size()));
  });
  return address;
}

void add_address(NetlinkSocket& socket, std::uint32_t index, const std::string& object) try {
  const AddressObject address(object);
  socket.change(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, [&](nlmsghdr& message) {
    auto& header = *static_cast<ifaddrmsg*>(mnl_nlmsg_put_extra_header(&message, sizeof(ifaddrmsg)));
    header = address.header();
    header.ifa_index = index;
    copy_attributes(address, {IFA_FLAGS}, message);
    std::uint32_t flags = address.number(IFA_FLAGS, header.ifa_flags);
    // Otherwise the kernel refuses a route with this source until it has looked for duplicates.
    if (header.ifa_family == AF_INET6) flags |= IFA_F_NODAD;
    mnl_attr_put_u32(&message, IFA_FLAGS, flags);
  });
} catch (const std::system_error& error) {
  throw std::system_error(error.code(), "address " + to_string(address_of(object)));
}

void remove_addresses(NetlinkSocket& socket, std::uint32_t index) {
  std::vector<std::string> present;
  for_each_address(socket, AF_INET, [&](const AddressObject& address, std::string bytes) {
    if (address.header().ifa_index == index) present.push_back(std::move(bytes));
  });
  for (const std::string& object : present) try {
      const AddressObject address(object);
      socket.change(RTM_DELADDR, 0, [&](nlmsghdr& message) {
        *static_cast<ifaddrmsg*>(mnl_nlmsg_put_extra_header(&message, sizeof(ifaddrmsg))) = address.header();
        copy_attributes(address, {IFA_CACHEINFO}, message);
      });
    } catch (const std::system_error& error) {
      if (error.code().value() != EADDRNOTAVAIL) throw;  // a secondary address that went with its primary one
    }
}

void add_route(NetlinkSocket& socket, std::uint32_t index, const std::string& object) {
  const RouteObject route(object);
  // Another interface may have a route to the same place.
  change_once(socket, RTM_NEWROUTE, NLM_F_APPEND, [&](nlmsghdr& message) {
    auto& header = *static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(&message, sizeof(rtmsg)));
    header = route.header();
    header.rtm_flags &= RTNH_F_ONLINK;  // the other flags are only reported
    copy_attributes(route, {RTA_OIF, RTA_CACHEINFO}, message);
    mnl_attr_put_u32(&message, RTA_OIF, index);
  });
}

void add_neighbour(NetlinkSocket& socket, std::uint32_t index, const std::string& object) {
  const NeighbourObject neighbour(object);
  change_once(socket, RTM_NEWNEIGH, NLM_F_REPLACE, [&](nlmsghdr& message) {
    auto& header = *static_cast<ndmsg*>(mnl_nlmsg_put_extra_header(&message, sizeof(ndmsg)));
    header = neighbour.header();
    header.ndm_ifindex = static_cast<int>(index);
    copy_attributes(neighbour, {NDA_CACHEINFO, NDA_PROBES}, message);
  });
}

}  // namespace cardcage::nic
