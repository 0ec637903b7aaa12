#include "modules/nvidia/health/readings.h"

#include <array>

#include "modules/nvidia/fabric.h"
#include "modules/nvidia/links.h"

namespace cardcage::nvidia {
namespace {

using nvml::get;

constexpr unsigned kBusyPercent = 50;

// A GPU reports no margin before Ada and driver 570.
void read_thresholds(const nvml::Library& nvml, nvml::Device device, Readings& now) {
  const auto read = [&](nvml::TemperatureThreshold threshold) {
    const auto celsius = get<unsigned>(nvml->nvmlDeviceGetTemperatureThreshold, device, unsigned{threshold});
    return celsius ? std::optional(static_cast<int>(*celsius)) : std::nullopt;
  };
  now.shutdown = read(nvml::kShutdownTemperature);
  now.slowdown = read(nvml::kSlowdownTemperature);
  now.hottest = read(nvml::kGpuMaxTemperature);
}

}  // namespace

Readings read_health(const nvml::Library& nvml, nvml::Device device, const std::string& bus_id) {
  Readings now;
  enum : std::size_t { kErrors, kPending, kFailed, kRetiring, kRemapped, kAction, kShutdown, kCount };
  std::array<nvml::FieldValue, kCount> fields{};
  fields[kErrors].fieldId = nvml::kFieldEccDbeVolatile;
  fields[kPending].fieldId = nvml::kFieldRemapPending;
  fields[kFailed].fieldId = nvml::kFieldRemapFailure;
  fields[kRemapped].fieldId = nvml::kFieldRemappedUncorrectable;
  fields[kRetiring].fieldId = nvml::kFieldRetiredPending;
  fields[kAction].fieldId = nvml::kFieldRecoveryAction;
  fields[kShutdown].fieldId = nvml::kFieldShutdownTlimit;
  // GeForce, GPUs in a vGPU guest and GB10 have no fields. A GPU that returns another error is watched without them,
  // too.
  const nvml::Return code = nvml->nvmlDeviceGetFieldValues == nullptr
                                ? nvml::kFunctionNotFound
                                : nvml->nvmlDeviceGetFieldValues(device, kCount, fields.data());
  if (nvml::means_lost(code)) nvml.must(code, "reading the health of GPU " + bus_id);
  unsigned minor = 0;  // a handle dies with a reset; its GPU has to be opened again
  if (code != nvml::kSuccess)
    nvml.must(nvml->nvmlDeviceGetMinorNumber(device, &minor), "looking whether GPU " + bus_id + " responds");
  if (code == nvml::kSuccess) {
    now.uncorrectable_errors = nvml::count_of(fields[kErrors]);
    now.remap_pending = nvml::count_of(fields[kPending]);
    now.remap_failed = nvml::count_of(fields[kFailed]);
    now.remapped = nvml::count_of(fields[kRemapped]);
    now.retirement_pending = nvml::count_of(fields[kRetiring]);
    if (fields[kShutdown].nvmlReturn == nvml::kSuccess) now.shutdown_margin = fields[kShutdown].value.s;
    if (const auto action = nvml::count_of(fields[kAction])) now.recovery_action = static_cast<unsigned>(*action);
  }
  if (const auto sram = nvml::get_tagged<nvml::EccSramErrorStatus>(nvml->nvmlDeviceGetSramEccErrorStatus, device))
    now.sram_exceeded = sram->thresholdExceeded != 0;
  now.link_width = get<unsigned>(nvml->nvmlDeviceGetCurrPcieLinkWidth, device);
  if (const auto margin = nvml::get_tagged<nvml::MarginTemperature>(nvml->nvmlDeviceGetMarginTemperature, device))
    now.margin = margin->marginTemperature;
  else
    read_thresholds(nvml, device, now);
  now.temperature = read_temperature(nvml, device);
  if (const auto milliwatts = get<unsigned>(nvml->nvmlDeviceGetPowerUsage, device)) now.power = *milliwatts / 1000.0;
  now.clock_reasons = get<unsigned long long>(nvml->nvmlDeviceGetCurrentClocksEventReasons, device);
  if (!now.clock_reasons)
    now.clock_reasons = get<unsigned long long>(nvml->nvmlDeviceGetCurrentClocksThrottleReasons, device);
  now.link_generation = get<unsigned>(nvml->nvmlDeviceGetCurrPcieLinkGeneration, device);
  if (const auto rates = get<nvml::Utilization>(nvml->nvmlDeviceGetUtilizationRates, device))
    now.busy = rates->gpu >= kBusyPercent;
  now.replay_count = get<unsigned>(nvml->nvmlDeviceGetPcieReplayCounter, device);
  now.nvlinks = static_cast<unsigned>(active_nvlinks(nvml, device).size());
  if (auto fabric = read_fabric(nvml, device)) now.fabric_problem = std::move(fabric->problem);
  return now;
}

std::optional<int> read_temperature(const nvml::Library& nvml, nvml::Device device) {
  constexpr unsigned kCore = 0;
  if (const auto found = nvml::get_tagged<nvml::Temperature>(nvml->nvmlDeviceGetTemperatureV, device))
    return found->temperature;
  if (const auto found = get<unsigned>(nvml->nvmlDeviceGetTemperature, device, kCore)) return static_cast<int>(*found);
  return std::nullopt;
}

}  // namespace cardcage::nvidia
