#include "sim/fpga/cards.h"

#include <algorithm>
#include <stdexcept>

namespace cardcage::fake_fpga {
namespace {

constexpr unsigned kXilinx = 0x10ee;

// Returns the address with this number as its function.
std::string with_function(const std::string& address, unsigned number) {
  return address.substr(0, address.rfind('.') + 1) + std::to_string(number);
}

PciFunction function(const std::string& address, unsigned device, unsigned subsystem, const std::string& driver) {
  PciFunction made{.address = address, .device = device, .subsystem_device = subsystem};
  made.native = made.driver = driver;
  return made;
}

Hwmon thermal() {
  return {"dfl_fme_thermal",
          {{"temp1_input", 47000},
           {"temp1_max", 90000},
           {"temp1_crit", 93000},
           {"temp1_emergency", 95000},
           {"temp1_max_alarm", 0},
           {"temp1_crit_alarm", 0},
           {"temp1_max_policy", 0}}};
}

Hwmon power() {
  return {"dfl_fme_power",
          {{"power1_input", 33000000},
           {"power1_max", 60000000},
           {"power1_crit", 66000000},
           {"power1_max_alarm", 0},
           {"power1_crit_alarm", 0},
           {"power1_xeon_limit", 0},
           {"power1_fpga_limit", 0},
           {"power1_ltr", 0}}};
}

Hwmon board(const std::string& name) {
  return {name,
          {{"temp1_input", 38500},
           {"temp1_max", 75000},
           {"temp1_crit", 85000},
           {"temp2_input", 51000},
           {"temp2_max", 90000},
           {"temp2_crit", 95000},
           {"temp3_input", 33000},
           {"in0_input", 12140},
           {"in0_max", 13200},
           {"curr1_input", 2710},
           {"power1_input", 36500000}}};
}

Card dfl_card(const std::string& address, int numa_node, const PciFunction& first) {
  Card card{.address = address, .numa_node = numa_node, .functions = {first}};
  card.dfl.emplace();
  card.dfl->hwmon = {thermal(), power()};
  return card;
}

}  // namespace

std::vector<PciFunction*> Card::present() {
  std::vector<PciFunction*> found;
  unsigned seen = 0;
  for (PciFunction& each : functions) {
    if (!each.virtual_function || seen++ < virtual_functions) found.push_back(&each);
  }
  return found;
}

PciFunction* Card::function(const std::string& of) {
  for (PciFunction* each : present()) {
    if (each->address == of) return each;
  }
  return nullptr;
}

Port* Card::port(unsigned id) {
  if (!dfl) return nullptr;
  const auto found = std::ranges::find(dfl->ports, id, &Port::id);
  return found == dfl->ports.end() ? nullptr : &*found;
}

Card n3000(const std::string& address, int numa_node) {
  Card card = dfl_card(address, numa_node, function(address, 0x0b30, 0, "dfl-pci"));
  card.dfl->interface_id = kN3000Interface;
  card.dfl->bitstream_id = 0x23000410010310;
  card.dfl->bitstream_metadata = 0x1904190;
  card.dfl->ports = {{.id = 0, .afu_id = kN3000Afu}};
  card.dfl->bmc = Bmc{.hwmon = board("n3000bmc_hwmon")};
  return card;
}

Card d5005(const std::string& address, int numa_node) {
  Card card = dfl_card(address, numa_node, function(address, 0x0b2b, 0x138d, "dfl-pci"));
  card.dfl->interface_id = kD5005Interface;
  card.dfl->bitstream_id = 0x202000200000237;
  card.dfl->bitstream_metadata = 0x19082005;
  card.dfl->ports = {{.id = 0, .afu_id = kNlb0}};
  card.dfl->bmc = Bmc{.hwmon = board("d5005bmc_hwmon")};
  return card;
}

Card four_ports(const std::string& address, int numa_node) {
  constexpr unsigned kMostPorts = 4;
  Card card = dfl_card(address, numa_node, function(address, 0x09c4, 0, "dfl-pci"));
  card.dfl->interface_id = "69528db6eb31577a8c3668f9faa081f6";
  card.dfl->bitstream_id = 0x122000200000185;
  card.dfl->bitstream_metadata = 0x18061410;
  for (unsigned id = 0; id < kMostPorts; ++id)
    card.dfl->ports.push_back({.id = id, .afu_id = id % 2 == 0 ? kNlb0 : kNlb3});
  return card;
}

Card n6001(const std::string& address, int numa_node) {
  constexpr unsigned kSubsystem = 0x1771, kFirstVirtual = 5;
  Card card = dfl_card(address, numa_node, function(address, 0xbcce, kSubsystem, "dfl-pci"));
  for (const unsigned number : {1, 2, 4})
    card.functions.push_back(function(with_function(address, number), 0xbcce, kSubsystem, "dfl-pci"));
  card.total_virtual_functions = card.virtual_functions = 3;
  for (unsigned i = 0; i < card.virtual_functions; ++i) {
    PciFunction made = function(with_function(address, kFirstVirtual + i), 0xbccf, kSubsystem, "dfl-pci");
    made.driver = made.driver_override = "vfio-pci";
    made.virtual_function = true;
    card.functions.push_back(made);
  }
  for (PciFunction& each : card.functions) each.link_speed = each.max_link_speed = "16.0 GT/s PCIe";
  card.dfl->interface_id = kN6001Interface;
  card.dfl->bitstream_id = 0x5010202aecbd6e5;
  card.dfl->bitstream_metadata = 0x2205041;
  card.dfl->ports = {{.id = 0, .revision = 2}};
  card.dfl->bmc = Bmc{.hwmon = board("n6000bmc_hwmon"), .root_entry_hash = std::string(64, 'a')};
  return card;
}

Card u250(const std::string& address, int numa_node) {
  Card card{.address = address, .numa_node = numa_node};
  for (const unsigned number : {0u, 1u}) {
    PciFunction made = function(with_function(address, number), 0x5004 + number, 0xe, number == 0 ? "xclmgmt" : "xocl");
    made.vendor = made.subsystem_vendor = kXilinx;
    card.functions.push_back(made);
  }
  card.xrt = Xrt{.vbnv = "xilinx_u250_gen3x16_xdma_shell_4_1",
                 .rom_uuid = "12c8fafb0632499db1c0c6676271b8a6",
                 .serial = "213304018J0E",
                 .timestamp = 0x60b4c8a4,
                 .interface_uuids = {"5f2bd4b1f5a24b6c8a1a3e3b4f8d2a10"},
                 .logic_uuids = {"12c8fafb0632499db1c0c6676271b8a6"},
                 .hwmon = {"xilinx_u250_gen3x16_xdma_shell_4_1",
                           {{"temp1_input", 41000}, {"temp2_input", 36000}, {"power1_input", 28000000}}}};
  return card;
}

Card kria() {
  Card card{.numa_node = -1};
  card.soc.emplace();
  card.address = card.soc->device;
  return card;
}

Card with_virtual_functions(Card card) {
  const PciFunction first = card.functions.front();
  for (unsigned number = 1; number <= card.dfl.value().ports.size(); ++number) {
    PciFunction made =
        function(with_function(card.address, number), first.device + 1, first.subsystem_device, "dfl-pci");
    made.virtual_function = true;
    card.functions.push_back(made);
  }
  card.total_virtual_functions = static_cast<unsigned>(card.dfl->ports.size());
  return card;
}

Card wedged(Card card) {
  card.dfl.value().interface_id = kAllOnes;
  for (Port& port : card.dfl->ports) {
    if (port.afu_id) port.afu_id = kAllOnes;
  }
  return card;
}

Card described(const std::string& text) {
  const std::size_t at = text.find('@');
  const std::string name = text.substr(0, at);
  const std::string address = at == std::string::npos ? "" : text.substr(at + 1);
  if (name == "kria") return kria();
  using Make = Card (*)(const std::string&, int);
  static const std::map<std::string, std::pair<Make, const char*>> kCards = {
      {"n3000", {n3000, "0000:3b:00.0"}},
      {"d5005", {d5005, "0000:af:00.0"}},
      {"four-ports", {four_ports, "0000:5e:00.0"}},
      {"n6001", {n6001, "0000:b1:00.0"}},
      {"u250", {u250, "0000:65:00.0"}}};
  const auto found = kCards.find(name);
  if (found == kCards.end()) {
    throw std::invalid_argument("no card is called '" + name +
                                "': use n3000, d5005, four-ports, n6001, u250 or kria, and @ADDRESS after it");
  }
  return found->second.first(address.empty() ? found->second.second : address, 0);
}

}  // namespace cardcage::fake_fpga
