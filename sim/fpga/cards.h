// FPGA cards as data: the values that a card shows, and its faults. A description is a plain struct, so a test calls
// one of the functions below and changes the members that matter to it.
//
// Source: drivers/fpga/dfl-*.c, dfl-pci.c; Documentation/ABI/testing/sysfs-*fpga*, sysfs-platform-dfl-*; the trees of
// n3000, d5005 and n6000 in the tests of the OPAE SDK; the sysfs files of XRT's xocl and xclmgmt; the vendor kernel of
// AMD for the files `firmware` and `flags` of an fpga_manager.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cardcage::fake_fpga {

// The id that a crashed shell or a crashed accelerator reads as.
inline constexpr const char* kAllOnes = "ffffffffffffffffffffffffffffffff";

struct Hwmon {
  std::string name;
  std::map<std::string, long> sensors;  // temp1_input in millidegrees, power1_input in microwatts
};

// Counters of aer_dev_*: name and count, without the totals.
struct AerCounters {
  std::map<std::string, std::uint64_t> correctable, nonfatal, fatal;
};

struct PciFunction {
  std::string address;  // 0000:3b:00.0
  unsigned vendor = 0x8086, device = 0, subsystem_vendor = 0x8086, subsystem_device = 0, pci_class = 0x120000;
  std::string native;  // the driver that matches its ids
  std::string driver, driver_override;
  bool virtual_function = false;
  std::string link_speed = "8.0 GT/s PCIe", max_link_speed = "8.0 GT/s PCIe";
  unsigned link_width = 16, max_link_width = 16;
  AerCounters aer;
  bool config_lost = false;  // config space reads as ones
};

// The user clock of a port: a PLL and a counter, which measures one of its outputs at a time.
struct Clock {
  unsigned high_khz = 312500, low_khz = 156250;
  bool locked = true, counts_high = false;
  std::uint64_t command = 0;  // the last value written to userclk_freqcmd
  unsigned version = 3;       // version of the registers, 1 on early cards
  // Ports of later revisions have a feature device: with the attribute `frequency` of the OFS kernel, or only with
  // registers, as in mainline Linux (uio_dfl).
  bool has_driver = true;
  unsigned feature_revision = 0;  // 1: Agilex
};

struct Port {
  unsigned id = 0;
  std::optional<std::string> afu_id;  // 32 hex digits; none: the file is absent, as on the PF of an OFS card
  std::uint64_t errors = 0, first_error = 0, malformed_low = 0, malformed_high = 0;
  unsigned power_state = 0;  // 1 AP1, 2 AP2, 6 AP6
  bool ap1_event = false, ap2_event = false, ltr = false;
  unsigned revision = 0;  // userclk_* exist in revision 0, a feature device for the clock in later ones
  // How often the port has been disabled; the kernel counts, and enables the port at 0.
  unsigned disabled = 0;
  bool released = false;  // released by FME_PORT_RELEASE
  // FME_PORT_ASSIGN has returned the port: it has no driver until dfl-pci is bound to the card again.
  bool lacks_driver = false;
  Clock clock;
  unsigned regions = 1;  // 2 with signal tap
  unsigned resets = 0;
};

struct FmeErrors {
  std::uint64_t fme = 0, pcie0 = 0, pcie1 = 0, nonfatal = 0, catfatal = 0, first = 0, next = 0, inject = 0;
};

// An fpga_manager: of an FME, or of an SoC.
struct Manager {
  std::string name = "DFL FME FPGA Manager", state = "unknown";
  std::string status;  // lines such as "reconfig CRC error"
};

// The board's management controller, below a feature device of the FME.
struct Bmc {
  Hwmon hwmon;
  std::string version = "0x111700", firmware_version = "0x111704", mac_address = "64:4c:36:00:2f:20";
  std::string root_entry_hash;  // empty: none is programmed
};

// A card as the driver dfl-pci shows it.
struct Dfl {
  std::optional<std::string> interface_id;  // 32 hex digits; none: compat_id gives ENOENT everywhere
  std::uint64_t bitstream_id = 0, bitstream_metadata = 0;
  std::vector<Port> ports;
  FmeErrors errors;
  Manager manager;
  std::vector<Hwmon> hwmon;  // dfl_fme_thermal, dfl_fme_power
  std::optional<Bmc> bmc;
  unsigned error_interrupts = 1;  // number of interrupts of the FME, and of each port
  bool programming = false;       // the FME's lock is held
  bool shell_gone = false;        // the folder fpga_region is missing although the driver is bound
};

// An Alveo card as the drivers xclmgmt and xocl show it: functions 0 and 1.
struct Xrt {
  std::string vbnv, rom_uuid, serial;
  std::uint64_t timestamp = 0;
  std::vector<std::string> interface_uuids, logic_uuids;
  std::string xclbin_uuid = "00000000-0000-0000-0000-000000000000";
  unsigned ready = 1, offline = 0, bad_state = 0, shutdown = 0, calibration = 1;
  unsigned link_speed = 3, max_link_speed = 3, link_width = 16, max_link_width = 16;
  unsigned firewall_level = 0, firewall_status = 0, security_level = 0, mailbox_channels_disabled = 0;
  Hwmon hwmon;
};

// An fpga_manager of an SoC.
struct Soc {
  Manager manager{"Xilinx ZynqMP FPGA Manager", "operating", ""};
  std::string device = "firmware:zynqmp-firmware:pcap";  // its platform device
  bool vendor_kernel = true;                             // has firmware and flags
  std::string firmware;                                  // the last name written
  unsigned flags = 0;
};

struct Card {
  std::string address;  // address of the first function, or the device name of an SoC
  int numa_node = 0;
  std::vector<PciFunction> functions;  // virtual ones exist from sriov_numvfs on
  unsigned virtual_functions = 0, total_virtual_functions = 0;
  bool autoprobe = true;  // sriov_drivers_autoprobe
  std::optional<Dfl> dfl;
  std::optional<Xrt> xrt;
  std::optional<Soc> soc;
  // Numbers that the kernel assigns in the order in which drivers find devices: "fme" -> N, "port/0" -> M.
  std::map<std::string, unsigned> numbers;

  unsigned number(const std::string& key) const { return numbers.at(key); }
  // Returns the functions that exist, without virtual functions that are turned off.
  std::vector<PciFunction*> present();
  PciFunction* function(const std::string& of);
  Port* port(unsigned id);
};

// Ids of cards.
inline constexpr const char* kNlb0 = "d8424dc4a4a3c413f89e433683f9040b";
inline constexpr const char* kNlb3 = "f7df405cbd7acf7222f144b0b93acd18";
inline constexpr const char* kN3000Afu = "9aeffe5f84570612c000c9660d824272";
inline constexpr const char* kN3000Interface = "a5d72a3cc8b04939912cf715e5dc10ca";
inline constexpr const char* kD5005Interface = "bfac4d851ee856fe8c95865ce1bbaa2d";
inline constexpr const char* kN6001Interface = "ce3139c959cf528ca27751c50829797a";

// 8086:0b30, one port.
Card n3000(const std::string& address = "0000:3b:00.0", int numa_node = 0);
// 8086:0b2b, one port.
Card d5005(const std::string& address = "0000:af:00.0", int numa_node = 1);
// A card with as many ports as a DFL card may have, each with its PR region. No known product has so many.
Card four_ports(const std::string& address = "0000:5e:00.0", int numa_node = 0);
// An OFS card: 8086:bcce with FME, PR region and a port without accelerator; 8086:bccf at .5 .6 .7 on vfio-pci.
Card n6001(const std::string& address = "0000:b1:00.0", int numa_node = 1);
// 10ee:5004 with xclmgmt and 10ee:5005 with xocl.
Card u250(const std::string& address = "0000:65:00.0", int numa_node = 0);
// A Kria SoM: class/fpga_manager only.
Card kria();

// Lets the card have a virtual function for each of its ports, at .1 and so on, which only dfl-pci binds by itself.
Card with_virtual_functions(Card card);
// Makes the shell of the card crash: every id reads as ones.
Card wedged(Card card);

// Returns a card by name, as in "n3000@0000:3b:00.0"; throws std::invalid_argument.
Card described(const std::string& text);

}  // namespace cardcage::fake_fpga
