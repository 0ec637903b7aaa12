#include "modules/nic/link_watch.h"

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

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

// Only interfaces with hardware have a parent device (since Linux 5.14). One that is made of another may keep that with
// the node, and so may an address; pods' own interfaces are pairs, and have none here that holds beyond the link.
bool LinkWatch::is_ours(const nlmsghdr& message) const {
  if (message.nlmsg_type == RTM_NEWADDR || message.nlmsg_type == RTM_DELADDR)
    return static_cast<const ifaddrmsg*>(mnl_nlmsg_get_payload(&message))->ifa_scope == RT_SCOPE_UNIVERSE;
  if (link_from(message).lower != 0) return true;
  bool ours = false;
  for_each_attribute(message, sizeof(ifinfomsg), [&](const nlattr& attribute) {
    const auto type = mnl_attr_get_type(&attribute);
    ours = ours || type == IFLA_PARENT_DEV_NAME ||
           (type == IFLA_IFNAME && matches_any(mnl_attr_get_str(&attribute), interfaces_));
  });
  return ours;
}

}  // namespace cardcage::nic
