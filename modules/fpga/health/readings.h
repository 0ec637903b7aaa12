// The health of a card as sysfs shows it, as plain data. Values that cannot be read are left out.
//
// Source: Documentation/ABI/testing/sysfs-platform-dfl-fme, sysfs-platform-dfl-port, sysfs-class-fpga-manager and
// Documentation/hwmon/sysfs-interface.rst of the kernel; userpf/xocl_sysfs.c and subdev/firewall.c of XRT.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "modules/common/node.h"
#include "modules/common/pci_function.h"
#include "modules/fpga/target.h"

namespace cardcage::fpga {

// A sensor, in degrees Celsius or watts.
struct Sensor {
  std::string chip, name;  // "d5005bmc_hwmon", "FPGA Core Temperature"
  double value = 0;
  std::optional<double> max, crit;             // no limit if the chip reads 0
  bool max_alarm = false, crit_alarm = false;  // alarms of the hardware itself
};

struct PortReadings {
  std::string device;         // the id of the device; no device is listed for a port without a function
  std::string node;           // "dfl-port.2"
  unsigned number = 0;        // number within the card
  bool has_function = false;  // the names of the error bits are known only for ports with a function
  std::optional<std::uint64_t> errors, first_error;
  std::optional<std::uint64_t> power_state;  // 0, or the number of the AP state
  bool ap1_event = false, ap2_event = false;
};

struct EngineReadings {
  std::string node;            // "dfl-fme.0"
  bool is_documented = false;  // the names of its error bits are known
  std::optional<std::uint64_t> catfatal, nonfatal, fme, pcie0, pcie1;
  std::string interface_id;
};

struct XrtReadings {
  std::string ready, offline, bad_state, shutdown;  // raw values of XRT's driver
  // The AXI firewall that has tripped. The status is 0 if none has. The level cannot show that: it is -1 then, and 0
  // for the first firewall.
  std::optional<std::uint64_t> firewall_status, firewall_level;
  std::string design;  // the UUID of the loaded xclbin
  // 1 if the controllers of the memory are calibrated; 0 also if the design or the shell has none.
  std::optional<std::uint64_t> calibration;
};

struct Readings {
  // The PCI function whose configuration space reads as ones; empty if none does. Nothing else is read from a lost
  // function. Unset for an FPGA that is not a PCI function.
  std::optional<std::string> lost_function;
  hardware::PciLink link;
  hardware::PciErrors errors;
  std::vector<PortReadings> ports;
  std::optional<EngineReadings> engine;
  std::string manager_state, manager_status;
  std::optional<XrtReadings> xrt;
  std::vector<Sensor> temperatures, powers;

  // Results of the comparison with earlier readings.
  hardware::PciErrors new_errors;
  std::optional<double> corrected_errors;  // corrected PCIe errors in a minute
  bool lost_calibration = false;
};

// Reads the card that the target belongs to. While the card is being programmed, the kernel blocks readers of its
// engine's registers.
Readings read_health(const hardware::Node& node, const Identity& target);

}  // namespace cardcage::fpga
