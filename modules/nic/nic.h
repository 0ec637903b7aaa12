// A device of the module: a PCI function with its interface, or an interface of another kind.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "modules/common/node.h"
#include "modules/nic/netdev.h"
#include "modules/nic/netlink/devlink.h"
#include "modules/nic/node_links.h"
#include "modules/nic/rdma.h"

namespace cardcage::nic {

struct Nic {
  std::string id;        // "0000:41:00.0", "0000:41:00.0/port-1", "interface/macvtap0": as stable as the hardware
  std::string name;      // "nic-0000-41-00-0", "nic-0000-41-00-0-port-1", "nic-macvtap0"
  std::string type;      // "pf", "vf", "interface"
  std::string bus_id;    // of the PCI function; empty without one
  std::string physical;  // of a virtual function: the bus id of its physical function
  std::vector<std::string> entries;         // the names in the folder of the function, sorted: what it has and can do
  std::vector<std::filesystem::path> rdma;  // the folders of its RDMA devices
  std::optional<Netdev> netdev;             // as it was last on the node; nothing if there was none
  bool is_away = false;                     // the interface is in another namespace, such as that of a pod
};

// "0000:41:00.0" of "0000:41:00.0/port-1"; empty for an interface without a PCI function.
std::string bus_id_of(std::string_view id);
// "macvtap0" of "interface/macvtap0"; empty for a PCI function.
std::string interface_of(std::string_view id);
// "nic-0000-41-00-0-port-1": what Kubernetes calls the device, a DNS label.
std::string name_of(std::string_view id);

// What the module offers, and why it does not offer the rest.
struct Inventory {
  std::vector<Nic> nics;
  std::map<std::string, std::string> left_out;       // by PCI address or interface
  std::map<std::string, std::string> eswitch_modes;  // of cards that have a switch, by PCI address
  HealthReporters reporters;                         // of all cards and functions, by their names in devlink
  SoftRdma soft_rdma;
};

// Whether a function with these entries has such a file or folder.
inline bool has(const std::vector<std::string>& entries, const std::string& entry) {
  return std::ranges::binary_search(entries, entry);
}
// The function itself, or the physical function that it is a virtual one of.
inline const std::string& card_of(const Nic& nic) { return nic.physical.empty() ? nic.bus_id : nic.physical; }
// "pci/0000:41:00.0"
inline std::string devlink_name_of(const std::string& bus_id) { return "pci/" + bus_id; }

// An interface that a claim holds.
struct LentInterface {
  Netdev netdev;
  std::vector<std::filesystem::path> rdma;  // the names of the RDMA devices that moved with it
};

// Finds devices. Remembers the interfaces that it has seen, because one that a pod has cannot be read.
class Finder {
 public:
  Finder(hardware::Node node, Choice choice) : node_(std::move(node)), choice_(std::move(choice)) {}

  // `lent` are interfaces of devices that claims hold, by the id of the device. Throws std::system_error if the kernel
  // does not tell what the node uses.
  Inventory find(const std::map<std::string, LentInterface>& lent);

 private:
  void add_function(const std::string& bus_id, const NodeLinks& links, const std::map<std::string, LentInterface>& lent,
                    Inventory& found);
  void add_interface(const std::string& name, const NodeLinks& links, const std::map<std::string, LentInterface>& lent,
                     Inventory& found);
  void add(Nic nic, Inventory& found) const;

  const hardware::Node node_;
  const Choice choice_;
  std::map<std::string, std::vector<Netdev>> seen_;  // by PCI address
};

}  // namespace cardcage::nic
