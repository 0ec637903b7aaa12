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

// The kernel gives regions, engines and ports their numbers as they appear; only the address of the card and the number
// of a port within it last.
struct DflPort {
  unsigned number = 0;           // within the card, 0 to 3
  std::string node;              // "dfl-port.2", also below /dev
  std::filesystem::path folder;  // of its attributes
  bool has_function = false;     // ports of OFS cards have none: it is on their virtual functions
  bool is_lent = false;          // to a claim, as a virtual function: it has neither node nor folder
};

// The FPGA Management Engine, which programs the regions of the card.
struct DflEngine {
  std::string node;               // "dfl-fme.0", also below /dev
  std::filesystem::path folder;   // of its attributes
  std::filesystem::path manager;  // of the fpga_manager; empty if there is none
  std::string interface_id;       // of its regions, 32 hexadecimal digits; empty if the card does not tell
  std::string interface_fault;    // why not
};

struct DflCard {
  std::string bus_id;               // "0000:3b:00.0"
  std::string model;                // "N3000"; empty for cards that this module has not heard of
  std::optional<DflEngine> engine;  // a virtual function has none
  std::string physical;             // of a virtual function: the function of its card
  std::optional<DflEngine> shell;   // the engine that tells the shell: its own, or that of its physical function
  std::vector<DflPort> ports;       // by number; the kernel shows none that was released to a virtual function
  std::vector<std::string> virtual_functions;
  bool serves_vfio = false;  // an OFS card, or one of an unknown model, has a virtual function without dfl-pci

  // Its functions are on virtual functions, which containers get through VFIO. Mainline Linux has the ports released
  // before it makes them (drivers/fpga/dfl-pci.c), and then no port tells that it has no function.
  bool is_ofs() const {
    if (!engine || virtual_functions.empty()) return false;
    return ports.empty() ? serves_vfio : !ports.front().has_function;
  }
  // The port that a bitstream for the whole card is for.
  unsigned first_port() const { return ports.empty() ? 0 : ports.front().number; }
};

// By address. Functions of a card that have neither engine nor port are left out.
std::vector<DflCard> read_dfl_cards(const hardware::Node& node);
// Nothing if there is no such card.
std::optional<DflCard> read_dfl_card(const hardware::Node& node, const std::string& bus_id);

// The nodes of ports that do not tell their number, "dfl-port.2"; no card has them.
std::vector<std::string> unnumbered_ports(const hardware::Node& node, const std::string& bus_id);

// What the module calls a PCI function with these ids: "N3000". Empty if it has not heard of it.
std::string model_of(const hardware::Node& node, const std::string& bus_id);

// The numbers that the kernel gave a node, "237:0", from its attribute `dev`. Empty if it has none.
std::string numbers_of(const std::filesystem::path& folder);

// The hash of the key whose signatures the card demands of images for its regions; empty if it takes any image. Nothing
// if the card does not tell. The driver asks the card's management controller, which takes milliseconds.
//
// Source: Documentation/ABI/testing/sysfs-driver-intel-m10-bmc-sec-update of the kernel.
std::optional<std::string> root_entry_hash(const hardware::Node& node, const std::string& bus_id);

// The shell: its version, and the whole number that identifies it.
struct Shell {
  std::string id;       // "0x23000410010310"
  std::string version;  // "2.3.0"
};
// Nothing if the card does not tell.
std::optional<Shell> read_shell(const DflEngine& engine);

}  // namespace cardcage::fpga
