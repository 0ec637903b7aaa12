#include "modules/nic/nic.h"

#include <net/if_arp.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <system_error>

#include "modules/common/kernel_files.h"
#include "modules/common/pci_function.h"

namespace cardcage::nic {
namespace {

constexpr std::string_view kNetworkClass = "0x02";  // 0200 Ethernet, 0207 InfiniBand, 0280 others

constexpr std::string_view kInterface = "interface/";

// Errors are ignored: the kernel may have no devlink, and most drivers have no reporters.
void read_devlink(Inventory& found) try {
  std::set<std::string> cards;
  for (const Nic& nic : found.nics)
    if (!nic.bus_id.empty()) cards.insert(card_of(nic));
  if (cards.empty()) return;
  Devlink devlink;
  const std::vector<std::string> known = devlink.cards();
  for (const std::string& card : cards) {
    const std::string name = devlink_name_of(card);
    if (std::ranges::find(known, name) == known.end()) continue;
    if (std::string mode = devlink.eswitch_mode(name); !mode.empty()) found.eswitch_modes[card] = std::move(mode);
  }
  found.reporters = devlink.reporters();
} catch (const std::system_error&) {
  found.reporters.clear();
}

// Returns the names of two interfaces that have the same port.
std::optional<std::pair<std::string, std::string>> of_one_port(const std::vector<Netdev>& netdevs) {
  std::map<std::uint64_t, std::string> names;
  for (const Netdev& netdev : netdevs)
    if (const auto [other, is_new] = names.try_emplace(netdev.port, netdev.name); !is_new)
      return std::pair(other->second, netdev.name);
  return std::nullopt;
}

}  // namespace

std::string bus_id_of(std::string_view id) {
  return id.starts_with(kInterface) ? std::string() : std::string(id.substr(0, id.find('/')));
}

std::string interface_of(std::string_view id) {
  return id.starts_with(kInterface) ? std::string(id.substr(kInterface.size())) : std::string();
}

std::string name_of(std::string_view id) {
  std::string name = "nic-";
  for (const char c : id.starts_with(kInterface) ? id.substr(kInterface.size()) : id) {
    const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const bool fits = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    name += fits ? lower : '-';
  }
  return name;
}

Inventory Finder::find(const std::map<std::string, LentInterface>& lent) {
  Inventory found;
  found.soft_rdma = soft_rdma(node_.sysfs);
  const NodeLinks links(choice_);
  for (const std::string& bus_id : hardware::functions_of(node_.sysfs))
    if (hardware::text_in(hardware::path_of(node_.sysfs, bus_id) / "class").starts_with(kNetworkClass))
      add_function(bus_id, links, lent, found);
  if (!choice_.interfaces.empty())
    for (const std::string& name : interfaces_of(node_.sysfs)) add_interface(name, links, lent, found);
  for (const auto& [id, interface] : lent)
    if (!interface_of(id).empty() && std::ranges::find(found.nics, id, &Nic::id) == found.nics.end())
      add({id, name_of(id), "interface", {}, {}, {}, {}, interface.netdev, true}, found);
  read_devlink(found);
  return found;
}

void Finder::add_function(const std::string& bus_id, const NodeLinks& links,
                          const std::map<std::string, LentInterface>& lent, Inventory& found) {
  const auto device = hardware::path_of(node_.sysfs, bus_id);
  const std::vector<std::string> entries = hardware::names_in(device);
  if (has(entries, "sriov_numvfs") && hardware::virtual_functions_in_use(node_.sysfs, bus_id) > 0) {
    found.left_out[bus_id] = "its virtual functions are offered instead";
    return;
  }
  const auto present = interfaces_at(device, entries);
  const std::vector<std::string> names = present.value_or(std::vector<std::string>());
  for (const std::string& name : names)
    if (const std::string reason = links.reason_to_keep(name); !reason.empty()) {
      found.left_out[bus_id] = "interface '" + name + "' stays with the node: " + reason;
      return;
    }
  const bool is_away = present && names.empty();
  if (!is_away) seen_[bus_id] = read_netdevs(node_.sysfs, names);
  if (const auto twins = of_one_port(seen_[bus_id])) {
    found.left_out[bus_id] = "interfaces '" + twins->first + "' and '" + twins->second +
                             "' have the same dev_port, so their devices would have one id";
    return;
  }
  std::vector<Netdev> netdevs = seen_[bus_id];
  for (const auto& [id, interface] : lent)  // a pod may have had the interface before the module started
    if (bus_id_of(id) == bus_id && std::ranges::find(netdevs, interface.netdev.port, &Netdev::port) == netdevs.end())
      netdevs.push_back(interface.netdev);
  const std::string physical =
      has(entries, "physfn") ? hardware::physical_function_of(node_.sysfs, bus_id) : std::string();
  const std::string type = physical.empty() ? "pf" : "vf";
  const auto add_port = [&](const std::string& id, std::optional<Netdev> netdev) {
    const auto interface = lent.find(id);
    add({id, name_of(id), type, bus_id, physical, entries,
         interface == lent.end() ? std::vector<std::filesystem::path>() : interface->second.rdma, std::move(netdev),
         is_away},
        found);
  };
  if (netdevs.empty()) add_port(bus_id, std::nullopt);
  for (const Netdev& netdev : netdevs)
    add_port(netdevs.size() == 1 ? bus_id : bus_id + "/port-" + std::to_string(netdev.port), netdev);
}

void Finder::add(Nic nic, Inventory& found) const {
  if (has(nic.entries, "infiniband"))
    if (auto here = rdma_devices_of(hardware::path_of(node_.sysfs, nic.bus_id)); !here.empty())
      nic.rdma = std::move(here);  // otherwise a pod has the devices of the claim
  if (nic.netdev && !nic.is_away)
    if (const auto soft = found.soft_rdma.find(nic.netdev->name); soft != found.soft_rdma.end())
      nic.rdma.insert(nic.rdma.end(), soft->second.begin(), soft->second.end());
  found.nics.push_back(std::move(nic));
}

void Finder::add_interface(const std::string& name, const NodeLinks& links,
                           const std::map<std::string, LentInterface>& lent, Inventory& found) {
  if (!matches_any(name, choice_.interfaces) || has_hardware(node_.sysfs, name)) return;
  const std::string id = std::string(kInterface) + name;
  auto netdev = read_netdev(node_.sysfs, name);
  if (!netdev) return;
  if (netdev->type == ARPHRD_LOOPBACK) {
    found.left_out[name] = "it is the node's loopback interface";
  } else if (const std::string reason = links.reason_to_keep(name); !reason.empty()) {
    found.left_out[name] = "it stays with the node: " + reason;
  } else if (const auto held = lent.find(id); held != lent.end() && held->second.netdev.mac != netdev->mac) {
    found.left_out[name] = "a claim holds another interface, which had this name";
  } else {
    add({id, name_of(id), "interface", {}, {}, {}, {}, std::move(netdev), false}, found);
  }
}

}  // namespace cardcage::nic
