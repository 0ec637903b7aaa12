#include "modules/nic/netdev.h"

#include <net/if.h>
#include <net/if_arp.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "modules/common/kernel_files.h"

namespace cardcage::nic {
namespace {

namespace fs = std::filesystem;
using hardware::names_in;

// Returns the folders in which the driver of a device, or of a virtio device below it, makes interfaces.
std::vector<fs::path> folders_of(const fs::path& device, const std::vector<std::string>& entries) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const std::string& name : entries) {
    if (name == "net") folders.push_back(device / name);
    if (name.starts_with("virtio") && fs::is_directory(device / name / "net", error))
      folders.push_back(device / name / "net");
  }
  return folders;
}

}  // namespace

std::vector<std::string> interfaces_of(const fs::path& sysfs) {
  std::vector<std::string> names = names_in(sysfs / "class/net");
  std::erase(names, "bonding_masters");  // a file, not an interface
  return names;
}

std::optional<Netdev> read_netdev(const fs::path& sysfs, const std::string& name) {
  const hardware::Folder folder(sysfs / "class/net" / name);
  const auto index = folder.number("ifindex");
  if (!index || !std::in_range<int>(*index)) return std::nullopt;
  Netdev netdev{.name = name,
                .index = *index,
                .type = folder.number("type").value_or(0),
                .port = folder.number("dev_port").value_or(0),
                .mac = folder.text("address"),
                .alias = folder.text("ifalias"),
                .state = folder.text("operstate"),
                .port_name = folder.text("phys_port_name"),
                .switch_id = {},
                .pkey = {},
                .is_up = (folder.number("flags").value_or(0) & IFF_UP) != 0,
                .carrier = {},
                .mtu = folder.number("mtu"),
                .queue_length = folder.number("tx_queue_len").value_or(0),
                .speed = folder.number("speed")};  // number() ignores -1, the kernel's unknown speed
  if (!netdev.port_name.empty()) netdev.switch_id = folder.text("phys_switch_id");
  if (netdev.type == ARPHRD_INFINIBAND) netdev.pkey = folder.text("pkey");
  if (const auto carrier = folder.number("carrier")) netdev.carrier = *carrier != 0;
  return netdev;
}

std::optional<std::vector<std::string>> interfaces_at(const fs::path& device) {
  return interfaces_at(device, names_in(device));
}

std::optional<std::vector<std::string>> interfaces_at(const fs::path& device, const std::vector<std::string>& entries) {
  const std::vector<fs::path> folders = folders_of(device, entries);
  if (folders.empty()) return std::nullopt;
  std::vector<std::string> names;
  for (const fs::path& folder : folders) std::ranges::move(names_in(folder), std::back_inserter(names));
  return names;
}

std::vector<Netdev> read_netdevs(const fs::path& sysfs, const std::vector<std::string>& names) {
  std::vector<Netdev> netdevs;
  for (const std::string& name : names)
    if (auto netdev = read_netdev(sysfs, name); netdev && !is_representor(*netdev))
      netdevs.push_back(std::move(*netdev));
  return netdevs;
}

std::vector<Netdev> netdevs_at(const fs::path& sysfs, const fs::path& device) {
  return read_netdevs(sysfs, interfaces_at(device).value_or(std::vector<std::string>()));
}

bool has_hardware(const fs::path& sysfs, const std::string& name) {
  std::error_code error;
  return fs::exists(sysfs / "class/net" / name / "device", error);
}

bool is_representor(const Netdev& netdev) {
  const std::string& port = netdev.port_name;
  const bool is_uplink = port.size() > 1 && port[0] == 'p' && std::isdigit(static_cast<unsigned char>(port[1])) != 0;
  return !netdev.switch_id.empty() && !is_uplink;
}

std::string encapsulation_of(const Netdev& netdev) {
  if (netdev.type == ARPHRD_ETHER) return "ether";
  if (netdev.type == ARPHRD_INFINIBAND) return "infiniband";
  return std::to_string(netdev.type);
}

}  // namespace cardcage::nic
