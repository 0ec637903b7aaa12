#include "modules/nvidia/health/readings.h"

#include <array>

#include "modules/nvidia/fabric.h"
#include "modules/nvidia/links.h"

namespace cardcage::nvidia {
namespace {

using nvml::get;

const char* action_name(unsigned action) {
  switch (action) {
    case nvml::kActionReset: return "a reset of the GPU";
    case nvml::kActionReboot:
    case nvml::kActionSystemReboot: return "a restart of the node";
    case nvml::kActionDrainP2p: return "the end of peer-to-peer traffic";
    case nvml::kActionDrainAndReset: return "a reset of the GPU once its work is done";
    case nvml::kActionRecoverImexDomain: return "a restart of the IMEX domain";
    case nvml::kActionBusReset: return "a reset of the PCI bus";
    default: return "at least a reset of the GPU";
  }
}

// These concern the work of several GPUs or nodes; one GPU alone works.
bool leaves_single_gpu_work(unsigned action) {
  return action == nvml::kActionDrainP2p || action == nvml::kActionRecoverImexDomain;
}

std::string action_text(const Readings& now) {
  return std::string("the driver asks for ") + action_name(now.recovery_action.value_or(0));
}

template <class T>
bool is_above_zero(const std::optional<T>& value) {
  return value.value_or(0) > 0;
}

constexpr unsigned kReplaysPerLook = 1;  // some eight in a minute

const std::array kRules{
    Rule{.cause = "RecoveryAction",
         .reason = "RecoveryNeeded",
         .test =
             [](const Readings& now) {
               const unsigned action = now.recovery_action.value_or(nvml::kActionNone);
               return action != nvml::kActionNone && !leaves_single_gpu_work(action);
             },
         .describe = action_text,
         .hold = 1,
         .bad = true,
         .taint = "gpu.nvidia.com/recovery-action"},
    Rule{.cause = "RecoveryAction",
         .reason = "PeersUnsafe",
         .test = [](const Readings& now) { return leaves_single_gpu_work(now.recovery_action.value_or(0)); },
         .describe = action_text,
         .hold = 1,
         .bad = false,
         .taint = "gpu.nvidia.com/recovery-action"},
    Rule{.cause = "Ecc",
         .reason = "UncorrectableErrors",
         .test = [](const Readings& now) { return is_above_zero(now.uncorrectable_errors); },
         .describe =
             [](const Readings& now) {
               return std::to_string(*now.uncorrectable_errors) +
                      " uncorrectable memory errors since the last reset; reset the GPU: nvidia-smi --gpu-reset";
             },
         .hold = 1,
         .bad = true,
         .taint = "gpu.nvidia.com/ecc"},
    Rule{.cause = "RowRemap",
         .reason = "RemapFailed",
         .test = [](const Readings& now) { return is_above_zero(now.remap_failed); },
         .describe = [](const Readings&) -> std::string {
           return "a row of memory could not be replaced; replace the card";
         },
         .hold = 1,
         .bad = true,
         .taint = "gpu.nvidia.com/row-remap"},
    Rule{.cause = "RowRemap",
         .reason = "RemapPending",
         .test = [](const Readings& now) { return is_above_zero(now.remap_pending); },
         .describe = [](const Readings&) -> std::string {
           return "a row of memory is replaced at the next reset: nvidia-smi --gpu-reset";
         },
         .hold = 1,
         .bad = false,
         .taint = "gpu.nvidia.com/row-remap"},
    Rule{.cause = "RetiredPages",
         .reason = "RetirementPending",
         .test = [](const Readings& now) { return is_above_zero(now.retirement_pending); },
         .describe = [](const Readings&) -> std::string { return "pages of memory are retired at the next restart"; },
         .hold = 1,
         .bad = false,
         .taint = "gpu.nvidia.com/retired-pages"},
    Rule{.cause = "Pcie",
         .reason = "LinkNarrow",
         .test =
             [](const Readings& now) {
               return now.link_width && now.max_link_width && *now.link_width < *now.max_link_width;
             },
         .describe =
             [](const Readings& now) {
               return "the PCIe link has " + std::to_string(*now.link_width) + " of " +
                      std::to_string(*now.max_link_width) + " lanes; look at the seating of the card";
             },
         .hold = 30,
         .bad = false,
         .taint = "gpu.nvidia.com/pcie"},
    Rule{.cause = "Pcie",
         .reason = "LinkSlow",
         .test =
             [](const Readings& now) {
               return now.busy && now.link_generation && now.max_link_generation &&
                      *now.link_generation < *now.max_link_generation;
             },
         .describe =
             [](const Readings& now) {
               return "the PCIe link works as generation " + std::to_string(*now.link_generation) + " of " +
                      std::to_string(*now.max_link_generation) + "; look at the seating of the card";
             },
         .hold = 30,
         .bad = false,
         .taint = "gpu.nvidia.com/pcie"},
    Rule{.cause = "PcieErrors",
         .reason = "Replays",
         .test = [](const Readings& now) { return now.replays > kReplaysPerLook; },
         .describe =
             [](const Readings& now) {
               return std::to_string(now.replays) + " PCIe packets were sent again since the last look";
             },
         .hold = 6,
         .bad = false,
         .taint = "gpu.nvidia.com/pcie-errors"},
    Rule{.cause = "NvLink",
         .reason = "LinksDown",
         .test = [](const Readings& now) { return now.nvlinks < now.most_nvlinks; },
         .describe =
             [](const Readings& now) {
               return std::to_string(now.most_nvlinks - now.nvlinks) + " of " + std::to_string(now.most_nvlinks) +
                      " NVLinks are down";
             },
         .hold = 3,
         .bad = false,
         .taint = "gpu.nvidia.com/nvlink"},
    Rule{.cause = "Fabric",
         .reason = "FabricUnhealthy",
         .test = [](const Readings& now) { return !now.fabric_problem.empty(); },
         .describe = [](const Readings& now) { return now.fabric_problem; },
         .hold = 6,
         .bad = false,
         .taint = "gpu.nvidia.com/fabric"},
    Rule{.cause = "Thermal",
         .reason = "Hot",
         .test = [](const Readings& now) { return now.margin && *now.margin <= 0; },
         .describe = [](const Readings&) -> std::string { return "it is too hot and slows down; look at its cooling"; },
         .hold = 12,
         .bad = false,
         .taint = "gpu.nvidia.com/thermal"},
    Rule{.cause = "Power",
         .reason = "PowerBrake",
         .test = [](const Readings& now) { return (now.clock_reasons.value_or(0) & nvml::kReasonHwPowerBrake) != 0; },
         .describe = [](const Readings&) -> std::string { return "the power supply of the machine slows it down"; },
         .hold = 6,
         .bad = false,
         .taint = "gpu.nvidia.com/power"},
};

constexpr unsigned kBusyPercent = 50;

}  // namespace

Readings read_health(const nvml::Library& nvml, nvml::Device device, const std::string& bus_id) {
  Readings now;
  enum : std::size_t { kErrors, kPending, kFailed, kRetiring, kAction, kCount };
  std::array<nvml::FieldValue, kCount> fields{};
  fields[kErrors].fieldId = nvml::kFieldEccDbeVolatile;
  fields[kPending].fieldId = nvml::kFieldRemapPending;
  fields[kFailed].fieldId = nvml::kFieldRemapFailure;
  fields[kRetiring].fieldId = nvml::kFieldRetiredPending;
  fields[kAction].fieldId = nvml::kFieldRecoveryAction;
  if (nvml->nvmlDeviceGetFieldValues != nullptr)
    nvml.must(nvml->nvmlDeviceGetFieldValues(device, kCount, fields.data()), "reading the health of GPU " + bus_id);
  if (nvml->nvmlDeviceGetFieldValues != nullptr) {
    now.uncorrectable_errors = nvml::count_of(fields[kErrors]);
    now.remap_pending = nvml::count_of(fields[kPending]);
    now.remap_failed = nvml::count_of(fields[kFailed]);
    now.retirement_pending = nvml::count_of(fields[kRetiring]);
    if (const auto action = nvml::count_of(fields[kAction])) now.recovery_action = static_cast<unsigned>(*action);
  }
  now.link_width = get<unsigned>(nvml->nvmlDeviceGetCurrPcieLinkWidth, device);
  now.max_link_width = get<unsigned>(nvml->nvmlDeviceGetMaxPcieLinkWidth, device);
  if (const auto margin = nvml::get_tagged<nvml::MarginTemperature>(nvml->nvmlDeviceGetMarginTemperature, device))
    now.margin = margin->marginTemperature;
  now.clock_reasons = get<unsigned long long>(nvml->nvmlDeviceGetCurrentClocksEventReasons, device);
  if (!now.clock_reasons)
    now.clock_reasons = get<unsigned long long>(nvml->nvmlDeviceGetCurrentClocksThrottleReasons, device);
  now.link_generation = get<unsigned>(nvml->nvmlDeviceGetCurrPcieLinkGeneration, device);
  now.max_link_generation = get<unsigned>(nvml->nvmlDeviceGetMaxPcieLinkGeneration, device);
  if (const auto rates = get<nvml::Utilization>(nvml->nvmlDeviceGetUtilizationRates, device))
    now.busy = rates->gpu >= kBusyPercent;
  now.nvlinks = static_cast<unsigned>(active_nvlinks(nvml, device).size());
  if (auto fabric = read_fabric(nvml, device)) now.fabric_problem = std::move(fabric->problem);
  return now;
}

std::span<const Rule> health_rules() { return kRules; }

}  // namespace cardcage::nvidia
