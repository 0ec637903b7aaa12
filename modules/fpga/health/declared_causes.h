// The causes of bad health of a device, and the host's rules for them unless the operator writes others.
#pragma once

#include <algorithm>
#include <cardcage/sdk.hpp>
#include <chrono>
#include <string>
#include <string_view>

namespace cardcage::fpga {

namespace cause {
inline constexpr const char *kAccess = "Access", *kRegion = "Region", *kShell = "Shell", *kPortErrors = "PortErrors",
                            *kEngineErrors = "EngineErrors", *kSeu = "Seu", *kManager = "Manager",
                            *kTemperature = "Temperature", *kPower = "Power", *kThrottling = "Throttling",
                            *kPcieLink = "PcieLink", *kPcieErrors = "PcieErrors", *kReady = "Ready",
                            *kFirewall = "Firewall", *kMemory = "Memory";
}  // namespace cause

// A card that fails and comes back so often in a day is broken. A cause that a design can bring about never leads to
// quarantine: it ends with the design's claim.
constexpr std::uint32_t kRelapses = 3;
constexpr std::chrono::hours kWindow{24};
constexpr std::chrono::seconds kTwoLooks{10};

inline constexpr cage::Cause kDeclaredCauses[] = {
    {.name = cause::kAccess,
     .help = "the card has left the bus",
     .relapses = kRelapses,
     .window = kWindow,
     .taint = cage::Taint::no_schedule,
     .taint_key = "fpga.cardcage.dev/access"},
    {.name = cause::kRegion,
     .help = "its programming did not end well, it could not be cleaned, or its function has crashed",
     .taint = cage::Taint::no_schedule,
     .taint_key = "fpga.cardcage.dev/region"},
    {.name = cause::kShell,
     .help = "its shell or firmware has crashed",
     .relapses = kRelapses,
     .window = kWindow,
     .taint = cage::Taint::no_schedule,
     .taint_key = "fpga.cardcage.dev/shell"},
    {.name = cause::kPortErrors,
     .help = "a port has latched errors",
     .taint = cage::Taint::no_schedule,
     .taint_key = "fpga.cardcage.dev/port-errors"},
    {.name = cause::kEngineErrors,
     .help = "the card has latched errors",
     .taint = cage::Taint::inform,
     .taint_key = "fpga.cardcage.dev/engine-errors"},
    {.name = cause::kSeu,
     .help = "radiation has changed the configuration of the FPGA or of the board's controller",
     .relapses = kRelapses,  // radiation does not strike so often
     .window = kWindow,
     .taint = cage::Taint::no_schedule,
     .taint_key = "fpga.cardcage.dev/seu"},
    // The same taint as that of a region that could not be programmed: a claim that tolerates it repairs the region.
    {.name = cause::kManager,
     .help = "the FPGA manager says that the last programming has failed",
     .taint = cage::Taint::inform,
     .taint_key = "fpga.cardcage.dev/region"},
    {.name = cause::kTemperature,
     .help = "a sensor is at its limit; the value is that of the hottest one",
     .unit = "Cel",
     .hold_down = kTwoLooks,
     .recovery_time = kTwoLooks,
     .taint = cage::Taint::inform,
     .taint_key = "fpga.cardcage.dev/temperature"},
    {.name = cause::kPower,
     .help = "a sensor is at its limit; the value is that of the sensor with the most power",
     .unit = "W",
     .hold_down = kTwoLooks,
     .recovery_time = kTwoLooks,
     .taint = cage::Taint::inform,
     .taint_key = "fpga.cardcage.dev/power"},
    {.name = cause::kThrottling,
     .help = "a port is slowed down or stopped to save power",
     .hold_down = kTwoLooks,
     .recovery_time = kTwoLooks,
     .taint = cage::Taint::inform,
     .taint_key = "fpga.cardcage.dev/throttling"},
    {.name = cause::kPcieLink,
     .help = "the PCIe link is narrow or slow; the value is its number of lanes",
     .unit = "1",
     .hold_down = kTwoLooks,
     .recovery_time = std::chrono::seconds(30),
     .relapses = kRelapses,  // a bad link is retrained again and again
     .window = kWindow,
     .taint = cage::Taint::inform,
     .taint_key = "fpga.cardcage.dev/pcie-link"},
    // Errors are events without a state to read. A few are always corrected, so more relapses are normal.
    {.name = cause::kPcieErrors,
     .help = "errors of the PCIe link; the value counts those that were corrected in a minute",
     .unit = "1/min",
     .recovery = cage::Recovery::silence,
     .recovery_time = std::chrono::minutes(5),
     .relapses = 10,
     .window = kWindow,
     .taint = cage::Taint::inform,
     .taint_key = "fpga.cardcage.dev/pcie-errors"},
    {.name = cause::kReady,
     .help = "XRT's driver does not have the card ready",
     .hold_down = kTwoLooks,
     .taint = cage::Taint::no_schedule,
     .taint_key = "fpga.cardcage.dev/ready"},
    {.name = cause::kFirewall,
     .help = "an AXI firewall of the card has tripped",
     .taint = cage::Taint::no_schedule,
     .taint_key = "fpga.cardcage.dev/firewall"},
    {.name = cause::kMemory,
     .help = "the memory of the card has lost its calibration",
     .relapses = kRelapses,
     .window = kWindow,
     .taint = cage::Taint::no_schedule,
     .taint_key = "fpga.cardcage.dev/memory"},
};

// Returns the key of the taint of a declared cause.
inline std::string taint_key_of(std::string_view name) {
  return std::string(std::ranges::find(kDeclaredCauses, name, &cage::Cause::name)->taint_key);
}

}  // namespace cardcage::fpga
