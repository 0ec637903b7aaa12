#include "modules/nic/netlink/routes.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "modules/nic/netlink/socket.h"

namespace cardcage::nic {
namespace {

// A route with several next hops has their interfaces in a list of structs, which have attributes of their own.
void add_hops(const nlattr& attribute, std::set<std::uint64_t>& found) {
  const auto* const first = static_cast<const char*>(mnl_attr_get_payload(&attribute));
  int left = mnl_attr_get_payload_len(&attribute);
  for (const auto* hop = reinterpret_cast<const rtnexthop*>(first); RTNH_OK(hop, left);
       left -= RTNH_ALIGN(hop->rtnh_len), hop = RTNH_NEXT(hop))
    found.insert(static_cast<std::uint64_t>(hop->rtnh_ifindex));
}

}  // namespace

std::set<std::uint64_t> interfaces_with_default_routes() {
  std::set<std::uint64_t> found;
  NetlinkSocket socket;
  for (const int family : {AF_INET, AF_INET6})
    socket.dump(RTM_GETROUTE, static_cast<std::uint8_t>(family), [&found](const nlmsghdr& message) {
      const auto* const route = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(&message));
      if (message.nlmsg_type != RTM_NEWROUTE || route->rtm_dst_len != 0 || route->rtm_type != RTN_UNICAST) return;
      for_each_attribute(message, sizeof(rtmsg), [&found](const nlattr& attribute) {
        if (mnl_attr_get_type(&attribute) == RTA_OIF) found.insert(mnl_attr_get_u32(&attribute));
        if (mnl_attr_get_type(&attribute) == RTA_MULTIPATH) add_hops(attribute, found);
      });
    });
  return found;
}

}  // namespace cardcage::nic
