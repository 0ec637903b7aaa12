#include "modules/nic/restore.h"

#include <net/if_arp.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "modules/nic/sysctls.h"

namespace cardcage::nic {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

LinkChange difference(const Link& link, const KeptInterface& kept) {
  const Netdev& before = kept.netdev;
  LinkChange change{.flags = kept.flags, .flag_mask = kRestoredFlags};
  // The MAC address of InfiniBand contains the number of a queue pair, which the driver chooses.
  if (before.type != ARPHRD_INFINIBAND && !before.mac.empty() && link.mac != before.mac) change.mac = before.mac;
  if (before.mtu && link.mtu != *before.mtu) change.mtu = static_cast<std::uint32_t>(*before.mtu);
  if (link.queue_length != before.queue_length) change.queue_length = static_cast<std::uint32_t>(before.queue_length);
  if (link.segments != kept.segments) change.segments = kept.segments;
  return change;
}

// udev may add the name as an alternative one at any time, or rename the interface to it.
void rename(NetlinkSocket& node, const Link& link, const std::string& name) {
  constexpr int kTries = 3;
  for (int left = kTries;; --left) try {
      if (link.name != name) change_link(node, link.index, {.name = name});
      return;
    } catch (const std::system_error& error) {
      if (error.code().value() != EEXIST || left <= 1) throw;
      const auto taker = find_named(node, name);
      if (taker && taker->index != link.index)
        throw cage::Error(CAGE_UNAVAILABLE, "interface '" + link.name + "' cannot get its name '" + name + "' back: '" +
                                                taker->name + "' has that name now; rename or remove that one");
      if (taker && taker->name != name) remove_alternative_name(node, link.index, name);
    }
}

// udev may have added the name in the meantime.
void add_name(NetlinkSocket& node, std::uint32_t index, const std::string& name) try {
  add_alternative_name(node, index, name);
} catch (const std::system_error& error) {
  const auto owner = error.code().value() == EEXIST ? find_named(node, name) : std::nullopt;
  if (!owner || owner->index != index) throw;
}

}  // namespace

void restore_link(cage::Host host, const hardware::Node& paths, NetlinkSocket& node, const Link& link,
                  const KeptInterface& kept, const std::string& name, Refused refused) {
  const auto attempt = [&](const char* what, const auto& step) {
    try {
      step();
    } catch (const std::system_error& error) {
      if (refused == Refused::kFails) throw;
      host.warn() << what << " of interface '" << name << "' cannot be restored on the node: " << error.what();
    }
  };
  change_link(node, link.index, {.is_up = false});
  try {
    remove_xdp(node, link.index, link.xdp_modes & ~kept.xdp_modes);
  } catch (const std::system_error& error) {  // the program belongs to a link that a process has open, or pinned
    host.warn() << "interface '" << name << "' keeps an XDP program of a pod: " << error.what();
  }
  for (const std::string& one : link.alternative_names)
    if (one != name && !contains(kept.alternative_names, one)) remove_alternative_name(node, link.index, one);
  change_link(node, link.index, difference(link, kept));
  rename(node, link, name);
  for (const std::string& one : kept.alternative_names)
    if (one != name && !contains(link.alternative_names, one))
      attempt("an alternative name", [&] { add_name(node, link.index, one); });
  write_sysctls(host, paths.procfs, name, kept.sysctls);
  if (kept.netdev.is_up) change_link(node, link.index, {.is_up = true});
  remove_addresses(node, link.index);
  for (const std::string& address : kept.objects.addresses)
    attempt("an address", [&] { add_address(node, link.index, address); });
  for (const std::string& route : kept.objects.routes) attempt("a route", [&] { add_route(node, link.index, route); });
  for (const std::string& neighbour : kept.objects.neighbours)
    attempt("a neighbour", [&] { add_neighbour(node, link.index, neighbour); });
  change_link(node, link.index, {.alias = kept.netdev.alias});
}

}  // namespace cardcage::nic
