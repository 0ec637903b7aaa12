#include "modules/nic/link_watch.h"

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>

#include "modules/nic/netlink/links.h"
#include "modules/nic/node_links.h"

namespace cardcage::nic {

void LinkWatch::start() {
  NetlinkSocket socket;
  for (const int group : {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR}) socket.join(group);
  host_.poll(socket.descriptor());
  socket_ = std::move(socket);
}

void LinkWatch::stop() {
  if (socket_) host_.stop_polling(socket_->descriptor());
  socket_.reset();
}

bool LinkWatch::take(const cage::Event& event) {
  if (!socket_ || event.type != cage::Event::Type::descriptor || event.descriptor != socket_->descriptor())
    return false;
  bool changed = false;
  const bool complete = socket_->receive([&](const nlmsghdr& message) { changed = changed || is_ours(message); });
  return changed || !complete;
}

// Interfaces with hardware have no kind, except those that the kernel makes of an RDMA device. An interface that is
// made of another one, or an address, may make the node keep the lower interface. Pods' own interfaces are veth pairs,
// without global addresses on the node. A bridge's messages about its ports have no kind, either.
bool LinkWatch::is_ours(const nlmsghdr& message) const {
  if (message.nlmsg_type == RTM_NEWADDR || message.nlmsg_type == RTM_DELADDR)
    return static_cast<const ifaddrmsg*>(mnl_nlmsg_get_payload(&message))->ifa_scope == RT_SCOPE_UNIVERSE;
  const auto& header = *static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(&message));
  const Link link = link_from(message);
  if (link.lower != 0 || matches_any(link.name, interfaces_)) return true;
  const bool has_hardware = link.kind.empty() && header.ifi_type != ARPHRD_LOOPBACK;
  return header.ifi_family == AF_UNSPEC && (has_hardware || link.kind == "ipoib");
}

}  // namespace cardcage::nic
