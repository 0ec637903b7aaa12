// A card of Intel or Altera whose shell describes itself by a Device Feature List, as the kernel's driver shows it.
//
// Source: Documentation/fpga/dfl.rst, Documentation/ABI/testing/sysfs-platform-dfl-fme, sysfs-platform-dfl-port,
// sysfs-class-fpga-region and sysfs-class-fpga-manager of the kernel.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "modules/common/node.h"

namespace cardcage::fpga {

// The kernel's driver of such cards.
inline constexpr const char* kDflDriver = "dfl-pci";

// A port. The kernel numbers regions, engines and ports as they appear; only the address of the card and the number of
// a port within the card stay the same.
struct DflPort {
  unsigned number = 0;           // number within the card, 0 to 3
  std::string node;              // "dfl-port.2", also below /dev
  std::filesystem::path folder;  // its attributes in sysfs
  bool has_function = false;     // false on OFS cards, whose virtual functions have the functions
  bool is_lent = false;          // a claim has it as a virtual function; it has neither node nor folder
};

// The FPGA Management Engine, which programs the regions of the card.
struct DflEngine {
  std::string node;               // "dfl-fme.0", also below /dev
  std::filesystem::path folder;   // its attributes in sysfs
  std::filesystem::path manager;  // folder of its fpga_manager; empty if it has none
  std::string interface_id;       // id of its regions, 32 hexadecimal digits; empty if it cannot be read
  std::string interface_fault;    // the reason for an empty interface_id
};

struct DflCard {
  std::string bus_id;               // "0000:3b:00.0"
  std::string model;                // "N3000"; empty for cards that this module has not heard of
  std::optional<DflEngine> engine;  // a virtual function has none
  std::string physical;             // bus id of the card; empty unless this is a virtual function
  std::optional<DflEngine> shell;   // the engine that describes the shell: its own, or that of its physical function
  std::vector<DflPort> ports;       // by number; the kernel shows none that was released to a virtual function
  std::vector<std::string> virtual_functions;
  bool serves_vfio = false;  // an OFS card, or one of an unknown model, has a virtual function without dfl-pci

  // Returns whether the functions are on virtual functions, which containers get through VFIO. Mainline Linux makes
  // virtual functions only of released ports (drivers/fpga/dfl-pci.c); then no port is left that has no function.
  bool is_ofs() const {
    if (!engine || virtual_functions.empty()) return false;
    return ports.empty() ? serves_vfio : !ports.front().has_function;
  }
  // The port into which a bitstream for the whole card is loaded.
  unsigned first_port() const { return ports.empty() ? 0 : ports.front().number; }
};

// Returns the cards by address, without functions that have neither engine nor port.
std::vector<DflCard> read_dfl_cards(const hardware::Node& node);
// Returns nothing if there is no such card.
std::optional<DflCard> read_dfl_card(const hardware::Node& node, const std::string& bus_id);

// Returns the nodes of ports whose number cannot be read, "dfl-port.2". No DflCard lists them.
std::vector<std::string> unnumbered_ports(const hardware::Node& node, const std::string& bus_id);

// Returns the model of a PCI function by its ids: "N3000". Empty if the module does not know it.
std::string model_of(const hardware::Node& node, const std::string& bus_id);

// Returns the device numbers of a node, "237:0", from its attribute `dev`. Empty if it has none.
std::string numbers_of(const std::filesystem::path& folder);

// Returns the hash of the key with which images for the card's regions must be signed; empty if the card takes any
// image, and nothing if it cannot be read. The driver asks the card's management controller, which takes milliseconds.
//
// Source: Documentation/ABI/testing/sysfs-driver-intel-m10-bmc-sec-update of the kernel.
std::optional<std::string> root_entry_hash(const hardware::Node& node, const std::string& bus_id);

// The shell: its version, and the number that identifies it.
struct Shell {
  std::string id;       // "0x23000410010310"
  std::string version;  // "2.3.0"
};
// Returns nothing if the card does not tell.
std::optional<Shell> read_shell(const DflEngine& engine);

}  // namespace cardcage::fpga
