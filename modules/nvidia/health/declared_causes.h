// Faults of a GPU or of its partitions, and how the host judges them unless the operator writes other rules.
#pragma once

#include <algorithm>
#include <cardcage/sdk.hpp>
#include <chrono>
#include <string>
#include <string_view>

namespace cardcage::nvidia {

namespace cause {
inline constexpr const char *kAccess = "Access", *kRecoveryAction = "RecoveryAction", *kXid = "Xid",
                            *kAppXid = "AppXid", *kEcc = "Ecc", *kRowRemap = "RowRemap",
                            *kRetiredPages = "RetiredPages", *kPcie = "Pcie", *kPcieErrors = "PcieErrors",
                            *kNvLink = "NvLink", *kFabric = "Fabric", *kTemperature = "Temperature", *kPower = "Power",
                            *kEvents = "Events";
}  // namespace cause

// After this many resets in a day, a fault that returns needs an operator to inspect the card.
constexpr std::uint32_t kRelapses = 3;
constexpr std::chrono::hours kWindow{24};

// Causes that only mark the device have a taint with the effect None, so that an operator's limit gives it to the
// device, too.
inline constexpr cage::Cause kDeclaredCauses[] = {
    // No quarantine: this fault comes and goes with each upgrade of the driver.
    {.name = cause::kAccess,
     .help = "the GPU or its driver does not respond",
     .taint = cage::Taint::no_schedule,
     .taint_key = "gpu.nvidia.com/gpu-lost"},
    {.name = cause::kRecoveryAction,
     .help = "the driver asks for a reset, a restart, or the end of traffic between GPUs",
     .taint = cage::Taint::inform,
     .taint_key = "gpu.nvidia.com/recovery-action"},
    {.name = cause::kXid,
     .help = "the driver has reported an error after which the GPU cannot be used",
     .relapses = kRelapses,
     .window = kWindow,
     .taint = cage::Taint::no_schedule,
     .taint_key = "gpu.nvidia.com/xid"},
    {.name = cause::kAppXid,
     .help = "the driver has reported an error of a program, or one that the GPU survives",
     .event = true,
     .severity = cage::Severity::ignored,
     .recovery = cage::Recovery::silence,
     .recovery_time = std::chrono::minutes(10)},
    {.name = cause::kEcc,
     .help = "uncorrectable memory errors since the last reset, as far as they concern more than their program",
     .unit = "1",
     .relapses = kRelapses,
     .window = kWindow,
     .taint = cage::Taint::no_schedule,
     .taint_key = "gpu.nvidia.com/ecc"},
    {.name = cause::kRowRemap,
     .help = "rows of memory that could not be replaced, or are at the next reset; the value counts replaced rows",
     .unit = "1",
     .taint = cage::Taint::inform,
     .taint_key = "gpu.nvidia.com/row-remap"},
    {.name = cause::kRetiredPages,
     .help = "pages of memory are retired at the next restart",
     .taint = cage::Taint::inform,
     .taint_key = "gpu.nvidia.com/retired-pages"},
    {.name = cause::kPcie,
     .help = "the PCIe link has lost lanes, or is slower than it was while the GPU is busy; the value is its lanes",
     .unit = "1",
     .hold_down = std::chrono::minutes(5),
     .recovery_time = std::chrono::minutes(1),
     .taint = cage::Taint::inform,
     .taint_key = "gpu.nvidia.com/pcie"},
    {.name = cause::kPcieErrors,
     .help = "PCIe packets that were sent again in a minute",
     .unit = "1/min",
     .hold_down = std::chrono::minutes(1),
     .recovery = cage::Recovery::silence,
     .recovery_time = std::chrono::minutes(5),
     .taint = cage::Taint::inform,
     .taint_key = "gpu.nvidia.com/pcie-errors"},
    {.name = cause::kNvLink,
     .help = "NVLinks that were up are down; the value counts those that are up",
     .unit = "1",
     .hold_down = std::chrono::seconds(20),
     .recovery_time = std::chrono::seconds(20),
     .taint = cage::Taint::inform,
     .taint_key = "gpu.nvidia.com/nvlink"},
    {.name = cause::kFabric,
     .help = "the GPU has not joined its NVLink fabric, or the fabric is not well",
     .hold_down = std::chrono::minutes(1),
     .recovery_time = std::chrono::seconds(20),
     .taint = cage::Taint::inform,
     .taint_key = "gpu.nvidia.com/fabric"},
    {.name = cause::kTemperature,
     .help = "the GPU is hotter than it should work, slows down by heat, or is about to switch itself off",
     .unit = "Cel",
     .hold_down = std::chrono::minutes(2),
     .recovery_time = std::chrono::minutes(1),
     .taint = cage::Taint::inform,
     .taint_key = "gpu.nvidia.com/thermal"},
    {.name = cause::kPower,
     .help = "the power supply of the machine slows the GPU down; the value is what the GPU draws",
     .unit = "W",
     .hold_down = std::chrono::minutes(1),
     .recovery_time = std::chrono::minutes(1),
     .taint = cage::Taint::inform,
     .taint_key = "gpu.nvidia.com/power"},
    {.name = cause::kEvents, .help = "the driver reports no errors of the GPU"},
};

// The key of the taint of a declared cause.
inline std::string taint_key_of(std::string_view name) {
  return std::string(std::ranges::find(kDeclaredCauses, name, &cage::Cause::name)->taint_key);
}

}  // namespace cardcage::nvidia
