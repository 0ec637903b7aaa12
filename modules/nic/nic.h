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
  std::string bus_id;    // address of the PCI function; empty without one
  std::string physical;  // bus id of the physical function; empty unless this is a virtual function
  std::vector<std::string> entries;         // sorted names in the folder of the function, which show its abilities
  std::vector<std::filesystem::path> rdma;  // the folders of its RDMA devices
  std::optional<Netdev> netdev;             // the last state on the node; nothing if it had none
  bool is_away = false;                     // the interface is in another namespace, such as that of a pod
};

// Returns "0000:41:00.0" for "0000:41:00.0/port-1"; empty for an interface without a PCI function.
std::string bus_id_of(std::string_view id);
// Returns "macvtap0" for "interface/macvtap0"; empty for a PCI function.
std::string interface_of(std::string_view id);
// Returns "nic-0000-41-00-0-port-1", the device's name in Kubernetes, a DNS label.
std::string name_of(std::string_view id);

// The devices that the module offers, and the reasons for leaving out others.
struct Inventory {
  std::vector<Nic> nics;
  std::map<std::string, std::string> left_out;       // reasons by PCI address or interface
  std::map<std::string, std::string> eswitch_modes;  // modes of cards that have a switch, by PCI address
  HealthReporters reporters;                         // reporters of all cards and functions, by devlink name
  SoftRdma soft_rdma;
};

// Returns whether a function with these entries has such a file or folder.
inline bool has(const std::vector<std::string>& entries, const std::string& entry) {
  return std::ranges::binary_search(entries, entry);
}
// Returns the physical function of a virtual function, or the function itself.
inline const std::string& card_of(const Nic& nic) { return nic.physical.empty() ? nic.bus_id : nic.physical; }
// "pci/0000:41:00.0"
inline std::string devlink_name_of(const std::string& bus_id) { return "pci/" + bus_id; }

// An interface that a claim holds.
struct LentInterface {
  Netdev netdev;
  std::vector<std::filesystem::path> rdma;  // the names of the RDMA devices that moved with it
};

// Finds devices. Remembers the interfaces that it has seen, because an interface in a pod cannot be read.
class Finder {
 public:
  Finder(hardware::Node node, Choice choice) : node_(std::move(node)), choice_(std::move(choice)) {}

  // `lent` has the interfaces of devices that claims hold, by device id. Throws std::system_error if the kernel does
  // not tell which interfaces the node uses.
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
