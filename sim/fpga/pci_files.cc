#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <stdexcept>

#include "sim/fpga/tree.h"

namespace cardcage::fake_fpga {
namespace {

constexpr unsigned kVfioMajor = 511, kVfioControl = 196, kMiscMajor = 10;

constexpr std::array kCorrectable = {"RxErr",   "BadTLP",      "BadDLLP",    "Rollover",
                                     "Timeout", "NonFatalErr", "CorrIntErr", "HeaderOF"};
constexpr std::array kUncorrectable = {"Undefined",     "DLP",
                                       "SDES",          "TLP",
                                       "FCP",           "CmpltTO",
                                       "CmpltAbrt",     "UnxCmplt",
                                       "RxOF",          "MalfTLP",
                                       "ECRC",          "UnsupReq",
                                       "ACSViol",       "UncorrIntErr",
                                       "BlockedTLP",    "AtomicOpBlocked",
                                       "TLPBlockedErr", "PoisonTLPBlocked"};

struct Address {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
};

Address parsed(const std::string& text) {
  Address address;
  if (std::sscanf(text.c_str(), "%x:%x:%x.%x", &address.domain, &address.bus, &address.device, &address.function) != 4)
    throw std::invalid_argument("not a PCI address: " + text);
  return address;
}

// Returns the root port above a card, on the previous bus.
std::string port_above(const Address& card) { return fmt::format("{:04x}:{:02x}:00.0", card.domain, card.bus - 1); }

template <class Names>
std::string aer_text(const Names& names, const std::map<std::string, std::uint64_t>& counts, const char* total) {
  std::string text;
  std::uint64_t sum = 0;
  for (const char* name : names) {
    const auto found = counts.find(name);
    const std::uint64_t count = found == counts.end() ? 0 : found->second;
    sum += count;
    text += fmt::format("{} {}\n", name, count);
  }
  return text + fmt::format("{} {}\n", total, sum);
}

// Returns vendor and device with the low byte first, then zeros.
std::string config_space(const PciFunction& function) {
  constexpr std::size_t kSize = 256;
  std::string bytes(kSize, function.config_lost ? '\xff' : '\0');
  if (function.config_lost) return bytes;
  const std::array words = {function.vendor, function.device};
  for (std::size_t i = 0; i < 2 * words.size(); ++i) bytes[i] = static_cast<char>(words[i / 2] >> 8 * (i % 2));
  return bytes;
}

std::string without_newline(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

bool matches(const PciFunction& function, const std::string& driver) {
  return (function.driver_override.empty() ? function.native : function.driver_override) == driver;
}

// Binds a driver, which starts with the current state of the hardware.
void start_driver(Card& card, PciFunction& function, const std::string& driver) {
  function.driver = driver;
  if (driver != "dfl-pci" || function.address != card.address || !card.dfl) return;
  card.dfl->manager = Manager{};
  for (Port& port : card.dfl->ports) {
    port.disabled = 0;
    port.released = port.lacks_driver = false;
  }
}

void probe(const Machine& machine, Card& card, PciFunction& function) {
  const bool may = !function.virtual_function || card.autoprobe || !function.driver_override.empty();
  const std::string& wanted = function.driver_override.empty() ? function.native : function.driver_override;
  if (may && function.driver.empty() && machine.drivers.contains(wanted)) start_driver(card, function, wanted);
}

int set_virtual_functions(const Machine& machine, Card& card, std::string_view text) {
  const auto wanted = kernel_number(text);
  if (!wanted) return EINVAL;
  if (*wanted > card.total_virtual_functions) return ERANGE;
  if (*wanted == card.virtual_functions) return 0;
  if (*wanted > 0 && card.virtual_functions > 0) return EBUSY;
  const auto released = std::ranges::count_if(card.dfl->ports, &Port::released);
  const bool ofs = std::ranges::none_of(card.dfl->ports, [](const Port& port) { return port.afu_id.has_value(); });
  if (!ofs && *wanted > 0 && *wanted != static_cast<std::uint64_t>(released)) return EINVAL;
  card.virtual_functions = static_cast<unsigned>(*wanted);
  for (PciFunction* function : card.present()) {
    if (!function->virtual_function) continue;
    function->driver_override.clear();
    function->driver.clear();
    probe(machine, card, *function);
  }
  return 0;
}

void add_identity(Tree& tree, const std::string& folder, const Card& card, const PciFunction& function) {
  const auto put = [&](const char* name, const std::string& text) { tree.file(folder + "/" + name, text + "\n"); };
  put("vendor", fmt::format("0x{:04x}", function.vendor));
  put("device", fmt::format("0x{:04x}", function.device));
  put("subsystem_vendor", fmt::format("0x{:04x}", function.subsystem_vendor));
  put("subsystem_device", fmt::format("0x{:04x}", function.subsystem_device));
  put("class", fmt::format("0x{:06x}", function.pci_class));
  put("revision", "0x00");
  put("enable", "1");
  put("numa_node", std::to_string(card.numa_node));
  put("current_link_speed", function.link_speed);
  put("max_link_speed", function.max_link_speed);
  put("current_link_width", std::to_string(function.link_width));
  put("max_link_width", std::to_string(function.max_link_width));
  tree.file(folder + "/config", config_space(function));
  tree.file(folder + "/aer_dev_correctable", aer_text(kCorrectable, function.aer.correctable, "TOTAL_ERR_COR"));
  tree.file(folder + "/aer_dev_nonfatal", aer_text(kUncorrectable, function.aer.nonfatal, "TOTAL_ERR_NONFATAL"));
  tree.file(folder + "/aer_dev_fatal", aer_text(kUncorrectable, function.aer.fatal, "TOTAL_ERR_FATAL"));
  const std::string driver = function.driver.empty() ? "" : fmt::format("DRIVER={}\n", function.driver);
  tree.file(folder + "/uevent", fmt::format("{}PCI_CLASS={:X}\nPCI_ID={:04X}:{:04X}\nPCI_SUBSYS_ID={:04X}:{:04X}\n"
                                            "PCI_SLOT_NAME={}\n",
                                            driver, function.pci_class, function.vendor, function.device,
                                            function.subsystem_vendor, function.subsystem_device, function.address));
}

void add_vfio(Tree& tree, const Machine& machine, const PciFunction& function, unsigned group) {
  const std::string folder = folder_of(function.address);
  const std::string name = std::to_string(group);
  tree.node("dev/vfio/" + name).function = function.address;
  tree.node("dev/vfio/vfio");
  const auto number = [&](unsigned major, unsigned minor) {
    return machine.node_number.empty() ? fmt::format("{}:{}\n", major, minor) : machine.node_number + "\n";
  };
  tree.file("sys/devices/virtual/vfio/" + name + "/dev", number(kVfioMajor, group));
  tree.link("sys/class/vfio/" + name, "sys/devices/virtual/vfio/" + name);
  tree.file("sys/devices/virtual/misc/vfio/dev", number(kMiscMajor, kVfioControl));
  tree.file(folder + "/vfio-dev/vfio" + name + "/dev", number(kVfioMajor - 1, group));
}

void add_function(Tree& tree, Machine& machine, Card& card, PciFunction& function) {
  const std::string folder = folder_of(function.address);
  add_identity(tree, folder, card, function);
  tree.link("sys/bus/pci/devices/" + function.address, folder);
  tree.link(folder + "/subsystem", "sys/bus/pci");
  tree.file(folder + "/driver_override",
            (function.driver_override.empty() ? "(null)" : function.driver_override) + "\n",
            [&function](std::string_view text) {
              function.driver_override = without_newline(text);
              return 0;
            });
  tree.file(folder + "/reset", "", [](std::string_view) { return 0; }).mode = 0200;
  const unsigned group = card.number("iommu/" + function.address);
  const std::string group_folder = fmt::format("sys/kernel/iommu_groups/{}", group);
  tree.link(folder + "/iommu_group", group_folder);
  tree.link(group_folder + "/devices/" + function.address, folder);
  if (!function.driver.empty()) {
    const std::string driver = "sys/bus/pci/drivers/" + function.driver;
    tree.link(folder + "/driver", driver);
    tree.link(driver + "/" + function.address, folder);
    if (function.driver == "vfio-pci") add_vfio(tree, machine, function, group);
  }
  if (function.virtual_function) tree.link(folder + "/physfn", folder_of(card.address));
}

}  // namespace

std::string folder_of(const std::string& address) {
  const Address card = parsed(address);
  return fmt::format("sys/devices/pci{:04x}:{:02x}/{}/{}", card.domain, card.bus - 1, port_above(card), address);
}

unsigned instance_of(const std::string& address) {
  const Address card = parsed(address);
  return card.domain << 16 | card.bus << 8 | card.device << 3 | card.function;
}

void add_pci_files(Tree& tree, Machine& machine, Card& card) {
  unsigned virtual_count = 0;
  const std::string first = card.functions.empty() ? "" : folder_of(card.address);
  for (PciFunction* function : card.present()) {
    add_function(tree, machine, card, *function);
    if (function->virtual_function)
      tree.link(fmt::format("{}/virtfn{}", first, virtual_count++), folder_of(function->address));
  }
  if (first.empty()) return;
  const Address address = parsed(card.address);
  const std::string root =
      fmt::format("sys/devices/pci{:04x}:{:02x}/{}", address.domain, address.bus - 1, port_above(address));
  tree.file(root + "/class", "0x060400\n");
  tree.file(root + "/vendor", "0x8086\n");
  tree.file(root + "/device", "0x347a\n");
  tree.file(root + "/numa_node", fmt::format("{}\n", card.numa_node));
  tree.link("sys/bus/pci/devices/" + port_above(address), root);
  if (card.total_virtual_functions == 0) return;
  tree.file(first + "/sriov_totalvfs", fmt::format("{}\n", card.total_virtual_functions));
  tree.file(first + "/sriov_numvfs", fmt::format("{}\n", card.virtual_functions),
            [&machine, &card](std::string_view text) { return set_virtual_functions(machine, card, text); });
  tree.file(first + "/sriov_drivers_autoprobe", card.autoprobe ? "1\n" : "0\n", [&card](std::string_view text) {
    card.autoprobe = text.starts_with('1');
    return 0;
  });
}

void add_driver_files(Tree& tree, Machine& machine) {
  for (const std::string& driver : machine.drivers) {
    const std::string folder = "sys/bus/pci/drivers/" + driver;
    tree.file(folder + "/bind", "",
              [&machine, driver](std::string_view text) {
                const std::string address = without_newline(text);
                Card* card = machine.card_of_function(address);
                PciFunction* function = card == nullptr ? nullptr : card->function(address);
                if (function == nullptr || !matches(*function, driver)) return ENODEV;
                if (!function->driver.empty()) return EBUSY;
                start_driver(*card, *function, driver);
                return 0;
              })
        .mode = 0200;
    tree.file(folder + "/unbind", "",
              [&machine, driver](std::string_view text) {
                const std::string address = without_newline(text);
                Card* card = machine.card_of_function(address);
                PciFunction* function = card == nullptr ? nullptr : card->function(address);
                if (function == nullptr || function->driver != driver) return ENODEV;
                function->driver.clear();
                return 0;
              })
        .mode = 0200;
  }
  tree.file("sys/bus/pci/drivers_probe", "",
            [&machine](std::string_view text) {
              const std::string address = without_newline(text);
              Card* card = machine.card_of_function(address);
              if (card == nullptr) return EINVAL;
              probe(machine, *card, *card->function(address));
              return 0;
            })
      .mode = 0200;
}

}  // namespace cardcage::fake_fpga
