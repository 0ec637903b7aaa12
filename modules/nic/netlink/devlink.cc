#include "modules/nic/netlink/devlink.h"

#include <linux/devlink.h>
#include <linux/genetlink.h>

#include <cerrno>
#include <string_view>
#include <system_error>

namespace cardcage::nic {
namespace {

constexpr std::uint8_t kReporterInError = 1;  // DEVLINK_HEALTH_REPORTER_STATE_ERROR, absent from the UAPI headers

NetlinkSocket::Build command(std::uint8_t number, std::uint8_t version,
                             const std::function<void(nlmsghdr& message)>& attributes = {}) {
  return [=](nlmsghdr& message) {
    auto& header = *static_cast<genlmsghdr*>(mnl_nlmsg_put_extra_header(&message, sizeof(genlmsghdr)));
    header.cmd = number;
    header.version = version;
    if (attributes) attributes(message);
  };
}

void for_each(const nlmsghdr& message, const std::function<void(const nlattr& attribute)>& action) {
  for_each_attribute(message, sizeof(genlmsghdr), action);
}

std::string name_in(const nlmsghdr& message) {
  std::string bus, device;
  for_each(message, [&](const nlattr& attribute) {
    if (mnl_attr_get_type(&attribute) == DEVLINK_ATTR_BUS_NAME) bus = mnl_attr_get_str(&attribute);
    if (mnl_attr_get_type(&attribute) == DEVLINK_ATTR_DEV_NAME) device = mnl_attr_get_str(&attribute);
  });
  return bus + "/" + device;
}

HealthReporter reporter_in(const nlattr& nested) {
  HealthReporter reporter;
  for_each_nested(nested, [&reporter](const nlattr& attribute) {
    switch (mnl_attr_get_type(&attribute)) {
      case DEVLINK_ATTR_HEALTH_REPORTER_NAME: reporter.name = mnl_attr_get_str(&attribute); break;
      case DEVLINK_ATTR_HEALTH_REPORTER_STATE:
        reporter.is_in_error = mnl_attr_get_u8(&attribute) == kReporterInError;
        break;
      case DEVLINK_ATTR_HEALTH_REPORTER_ERR_COUNT: reporter.errors = mnl_attr_get_u64(&attribute); break;
      case DEVLINK_ATTR_HEALTH_REPORTER_RECOVER_COUNT: reporter.recoveries = mnl_attr_get_u64(&attribute); break;
      default: break;
    }
  });
  return reporter;
}

// Returns the number of the multicast group `name` in the list of a family's groups; 0 if it is not there.
int group_in(const nlattr& groups, std::string_view name) {
  int found = 0;
  for_each_nested(groups, [&](const nlattr& group) {
    int number = 0;
    bool is_it = false;
    for_each_nested(group, [&](const nlattr& attribute) {
      if (mnl_attr_get_type(&attribute) == CTRL_ATTR_MCAST_GRP_ID)
        number = static_cast<int>(mnl_attr_get_u32(&attribute));
      if (mnl_attr_get_type(&attribute) == CTRL_ATTR_MCAST_GRP_NAME) is_it = mnl_attr_get_str(&attribute) == name;
    });
    if (is_it) found = number;
  });
  return found;
}

}  // namespace

Devlink::Devlink() {
  const auto with_name = [](nlmsghdr& message) {
    mnl_attr_put_strz(&message, CTRL_ATTR_FAMILY_NAME, DEVLINK_GENL_NAME);
  };
  socket_.get(GENL_ID_CTRL, command(CTRL_CMD_GETFAMILY, 1, with_name), [this](const nlmsghdr& message) {
    for_each(message, [this](const nlattr& attribute) {
      if (mnl_attr_get_type(&attribute) == CTRL_ATTR_FAMILY_ID) family_ = mnl_attr_get_u16(&attribute);
      if (mnl_attr_get_type(&attribute) == CTRL_ATTR_MCAST_GROUPS)
        group_ = group_in(attribute, DEVLINK_GENL_MCGRP_CONFIG_NAME);
    });
  });
}

void Devlink::dump(std::uint8_t number, const NetlinkSocket::OnMessage& on_message) {
  socket_.dump(family_, command(number, DEVLINK_GENL_VERSION), on_message);
}

std::vector<std::string> Devlink::cards() {
  std::vector<std::string> cards;
  dump(DEVLINK_CMD_GET, [&cards](const nlmsghdr& message) { cards.push_back(name_in(message)); });
  return cards;
}

std::string Devlink::eswitch_mode(const std::string& card) try {
  const std::size_t slash = card.find('/');
  const std::string bus = card.substr(0, slash), device = card.substr(slash + 1);
  const auto with_card = [&](nlmsghdr& message) {
    mnl_attr_put_strz(&message, DEVLINK_ATTR_BUS_NAME, bus.c_str());
    mnl_attr_put_strz(&message, DEVLINK_ATTR_DEV_NAME, device.c_str());
  };
  std::string mode;
  socket_.get(family_, command(DEVLINK_CMD_ESWITCH_GET, DEVLINK_GENL_VERSION, with_card), [&](const nlmsghdr& message) {
    for_each(message, [&mode](const nlattr& attribute) {
      if (mnl_attr_get_type(&attribute) != DEVLINK_ATTR_ESWITCH_MODE) return;
      const std::uint16_t number = mnl_attr_get_u16(&attribute);
      mode = number == DEVLINK_ESWITCH_MODE_LEGACY      ? "legacy"
             : number == DEVLINK_ESWITCH_MODE_SWITCHDEV ? "switchdev"
                                                        : "";
    });
  });
  return mode;
} catch (const std::system_error&) {
  return {};
}

HealthReporters Devlink::reporters() {
  HealthReporters reporters;
  dump(DEVLINK_CMD_HEALTH_REPORTER_GET, [&reporters](const nlmsghdr& message) {
    for_each(message, [&](const nlattr& attribute) {
      if (mnl_attr_get_type(&attribute) == DEVLINK_ATTR_HEALTH_REPORTER)
        reporters[name_in(message)].push_back(reporter_in(attribute));
    });
  });
  return reporters;
}

void Devlink::watch() { socket_.join(group_); }

bool Devlink::receive() {
  bool changed = false;
  const bool complete = socket_.receive([&changed](const nlmsghdr& message) {
    const auto* const header = static_cast<const genlmsghdr*>(mnl_nlmsg_get_payload(&message));
    changed = changed || header->cmd == DEVLINK_CMD_HEALTH_REPORTER_RECOVER;
  });
  return changed || !complete;
}

}  // namespace cardcage::nic
