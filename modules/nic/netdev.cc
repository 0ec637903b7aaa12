#include "modules/nic/netdev.h"

#include <net/if.h>
#include <net/if_arp.h>

#include <algorithm>
#include <iterator>

#include "modules/common/kernel_files.h"

namespace cardcage::nic {
namespace {

namespace fs = std::filesystem;
using hardware::names_in;
using hardware::number_in;
using hardware::text_in;

// The folders in which the driver of a device, or of a virtio device below it, makes interfaces.
std::vector<fs::path> folders_of(const fs::path& device) {
  std::vector<fs::path> folders{device / "net"};
  for (const std::string& name : names_in(device))
    if (name.starts_with("virtio")) folders.push_back(device / name / "net");
  std::error_code error;
  std::erase_if(folders, [&](const fs::path& folder) { return !fs::is_directory(folder, error); });
  return folders;
}

}  // namespace

std::vector<std::string> interfaces_of(const fs::path& sysfs) {
  std::vector<std::string> names = names_in(sysfs / "class/net");
  std::erase(names, "bonding_masters");  // a file
  return names;
}

std::optional<Netdev> read_netdev(const fs::path& sysfs, const std::string& name) {
  const fs::path folder = sysfs / "class/net" / name;
  const auto index = number_in(folder / "ifindex");
  if (!index) return std::nullopt;
  Netdev netdev{.name = name,
                .index = *index,
                .type = number_in(folder / "type").value_or(0),
                .port = number_in(folder / "dev_port").value_or(0),
                .mac = text_in(folder / "address"),
                .alias = text_in(folder / "ifalias"),
                .state = text_in(folder / "operstate"),
                .switch_id = text_in(folder / "phys_switch_id"),
                .port_name = text_in(folder / "phys_port_name"),
                .is_up = (number_in(folder / "flags").value_or(0) & IFF_UP) != 0,
                .carrier = {},
                .mtu = number_in(folder / "mtu"),
                .queue_length = number_in(folder / "tx_queue_len").value_or(0),
                .speed = number_in(folder / "speed")};  // -1 is no number: the kernel does not know it
  if (const auto carrier = number_in(folder / "carrier")) netdev.carrier = *carrier != 0;
  return netdev;
}

std::optional<std::vector<std::string>> interfaces_at(const fs::path& device) {
  const std::vector<fs::path> folders = folders_of(device);
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

std::vector<std::string> lower_interfaces_of(const fs::path& sysfs, const std::string& name) {
  constexpr std::string_view kLink = "lower_";
  std::vector<std::string> names;
  for (const std::string& entry : names_in(sysfs / "class/net" / name))
    if (entry.starts_with(kLink)) names.push_back(entry.substr(kLink.size()));
  return names;
}

bool is_representor(const Netdev& netdev) {
  const std::string& port = netdev.port_name;
  return !netdev.switch_id.empty() && (port.find("vf") != std::string::npos || port.find("sf") != std::string::npos);
}

std::string encapsulation_of(const Netdev& netdev) {
  if (netdev.type == ARPHRD_ETHER) return "ether";
  if (netdev.type == ARPHRD_INFINIBAND) return "infiniband";
  return std::to_string(netdev.type);
}

}  // namespace cardcage::nic
