// The causes of bad health of a device, and the host's rules for them unless the operator writes others.
#pragma once

#include <cardcage/sdk.hpp>
#include <chrono>

namespace cardcage::nic {

namespace cause {
inline constexpr const char *kAccess = "Access", *kFirmware = "Firmware", *kReporter = "Reporter", *kLink = "Link",
                            *kRdmaPort = "RdmaPort", *kPcieLink = "PcieLink", *kPcieErrors = "PcieErrors";
}  // namespace cause

// A switch that restarts a port, or a cable that is moved, interrupts the carrier for a moment.
constexpr std::chrono::seconds kCarrierTime{3};

inline constexpr cage::Cause kDeclaredCauses[] = {
    {.name = cause::kAccess,
     .help = "the card has left the bus",
     .relapses = 3,
     .window = std::chrono::hours(24),
     .taint = cage::Taint::no_schedule,
     .taint_key = "nic.cardcage.dev/access"},
    {.name = cause::kFirmware,
     .help = "the driver reports that the firmware of the card has failed (devlink)",
     .relapses = 3,
     .window = std::chrono::hours(24),
     .taint = cage::Taint::no_schedule,
     .taint_key = "nic.cardcage.dev/firmware"},
    {.name = cause::kReporter,
     .help = "the driver reports that another part of the function has failed (devlink)",
     .taint = cage::Taint::inform,
     .taint_key = "nic.cardcage.dev/reporter"},
    // Degraded: a pod may want the device for a link that comes later. An operator may write severity = "bad".
    {.name = cause::kLink,
     .help = "the interface is up and has no carrier",
     .hold_down = kCarrierTime,
     .recovery_time = kCarrierTime,
     .taint = cage::Taint::inform,
     .taint_key = "nic.cardcage.dev/link"},
    {.name = cause::kRdmaPort,
     .help = "a port of the RDMA device is not active, though its interface is up",
     .hold_down = kCarrierTime,
     .recovery_time = kCarrierTime,
     .taint = cage::Taint::inform,
     .taint_key = "nic.cardcage.dev/rdma-port"},
    {.name = cause::kPcieLink,
     .help = "the PCIe link is narrower or slower than the card and the slot allow",
     .taint = cage::Taint::inform,
     .taint_key = "nic.cardcage.dev/pcie-link"},
    // Errors are events without a state to read.
    {.name = cause::kPcieErrors,
     .help = "PCIe errors that were not corrected",
     .recovery = cage::Recovery::silence,
     .recovery_time = std::chrono::minutes(5),
     .relapses = 10,
     .window = std::chrono::hours(24),
     .taint = cage::Taint::inform,
     .taint_key = "nic.cardcage.dev/pcie-errors"},
};

}  // namespace cardcage::nic
