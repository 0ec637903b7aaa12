#include "modules/nvidia/metrics/metrics.h"

#include <algorithm>
#include <array>

#include "modules/nvidia/health/readings.h"
#include "modules/nvidia/metrics/figures.h"
#include "modules/nvidia/metrics/xid_message.h"

namespace cardcage::nvidia {
namespace {

using nvml::get;
using nvml::get_tagged;

// Figures that are fields of NVML: one call reads all of them.
struct FieldFigure {
  unsigned field;
  const Figure* figure;
};
constexpr std::array kFieldFigures{
    FieldFigure{nvml::kFieldMemoryTemperature, &figures::memory_temperature},
    FieldFigure{nvml::kFieldEnergy, &figures::energy},
    FieldFigure{nvml::kFieldPcieReplay, &figures::pcie_replays},
    FieldFigure{nvml::kFieldRemappedUncorrectable, &figures::uncorrectable_remapped},
    FieldFigure{nvml::kFieldRemappedCorrectable, &figures::correctable_remapped},
    FieldFigure{nvml::kFieldRemapFailure, &figures::remap_failure},
    FieldFigure{nvml::kFieldEccSbeVolatile, &figures::ecc_single_volatile},
    FieldFigure{nvml::kFieldEccDbeVolatile, &figures::ecc_double_volatile},
    FieldFigure{nvml::kFieldEccSbeAggregate, &figures::ecc_single_aggregate},
    FieldFigure{nvml::kFieldEccDbeAggregate, &figures::ecc_double_aggregate},
    FieldFigure{nvml::kFieldRetiredSbe, &figures::retired_single},
    FieldFigure{nvml::kFieldRetiredDbe, &figures::retired_double},
    FieldFigure{nvml::kFieldRetiredPending, &figures::retired_pending},
    FieldFigure{nvml::kFieldPowerViolation, &figures::power_violation},
    FieldFigure{nvml::kFieldThermalViolation, &figures::thermal_violation},
    FieldFigure{nvml::kFieldSyncBoostViolation, &figures::sync_boost_violation},
    FieldFigure{nvml::kFieldBoardLimitViolation, &figures::board_limit_violation},
    FieldFigure{nvml::kFieldLowUtilViolation, &figures::low_util_violation},
    FieldFigure{nvml::kFieldReliabilityViolation, &figures::reliability_violation},
    FieldFigure{nvml::kFieldRemapPending, &figures::remap_pending},
};
// Two more fields follow them and make one figure.
constexpr std::size_t kNvLinkSent = kFieldFigures.size(), kNvLinkReceived = kNvLinkSent + 1,
                      kFieldCount = kNvLinkReceived + 1;
using Fields = std::array<nvml::FieldValue, kFieldCount>;

// Returns the result of the call.
nvml::Return read_fields(const nvml::Library& nvml, nvml::Device device, Fields& fields) {
  for (std::size_t i = 0; i < kFieldFigures.size(); ++i) fields[i].fieldId = kFieldFigures[i].field;
  fields[kNvLinkSent].fieldId = nvml::kFieldNvLinkDataTx;
  fields[kNvLinkReceived].fieldId = nvml::kFieldNvLinkDataRx;
  fields[kNvLinkSent].scopeId = fields[kNvLinkReceived].scopeId = nvml::kAllLinks;
  for (nvml::FieldValue& field : fields) field.nvmlReturn = nvml::kNotSupported;
  if (nvml->nvmlDeviceGetFieldValues == nullptr) return nvml::kFunctionNotFound;
  return nvml->nvmlDeviceGetFieldValues(device, static_cast<int>(fields.size()), fields.data());
}

std::optional<unsigned> first_of_two(nvml::Return (*function)(nvml::Device, unsigned*, unsigned*),
                                     nvml::Device device) {
  unsigned value = 0, period_us = 0;
  if (function == nullptr || function(device, &value, &period_us) != nvml::kSuccess) return std::nullopt;
  return value;
}

bool has_uuid(const nvml::Library& nvml, nvml::Device device, const std::string& uuid) {
  std::array<char, nvml::kUuidSize> found{};
  return nvml->nvmlDeviceGetUUID(device, found.data(), nvml::kUuidSize) == nvml::kSuccess && uuid == found.data();
}

// Null if the instance is gone; another one may have its numbers now.
nvml::Device find_mig_device(const nvml::Library& nvml, nvml::Device gpu, const MigInstance& wanted) {
  const auto instance = get<nvml::GpuInstance>(nvml->nvmlDeviceGetGpuInstanceById, gpu, wanted.gpu_instance);
  if (!instance) return nullptr;
  const auto compute =
      get<nvml::ComputeInstance>(nvml->nvmlGpuInstanceGetComputeInstanceById, *instance, wanted.compute_instance);
  if (!compute) return nullptr;
  const auto info = get<nvml::ComputeInstanceInfo>(nvml->nvmlComputeInstanceGetInfo_v2, *compute);
  return info && has_uuid(nvml, info->device, wanted.uuid) ? info->device : nullptr;
}

}  // namespace

// The samples of one GPU or MIG instance, which have their labels in common.
class Metrics::Row {
 public:
  // `device` is empty if the GPU is not a device itself.
  Row(cage::Samples& samples, const FigureChoice& choice, std::string device, const Gpu& gpu,
      const std::string& driver_version)
      : samples_(samples), choice_(choice), device_(std::move(device)), gpu_(gpu), driver_version_(driver_version) {
    if (gpu.index) index_ = std::to_string(*gpu.index);
  }
  void set_instance(const std::string& profile, unsigned gpu_instance) {
    profile_ = profile;
    instance_ = std::to_string(gpu_instance);
  }

  template <class T>
  void add(const Figure& figure, const std::optional<T>& value) {
    if (value && choice_.has(figure))
      samples_.add(figure, device_, static_cast<double>(*value), index_, gpu_.uuid, gpu_.nvml_bus_id, gpu_.product,
                   profile_, instance_, driver_version_);
  }
  void add_xid(const std::optional<unsigned long long>& xid) {
    if (xid && choice_.has(figures::last_xid))
      samples_.add(figures::last_xid, device_, static_cast<double>(*xid), index_, gpu_.uuid, gpu_.nvml_bus_id,
                   gpu_.product, profile_, instance_, driver_version_, std::to_string(*xid), xid_message(*xid));
  }
  void add_memory(const nvml::Library& nvml, nvml::Device device) {
    constexpr int kToMib = 20;
    if (const auto memory = get_tagged<nvml::Memory2>(nvml->nvmlDeviceGetMemoryInfo_v2, device)) {
      add(figures::memory_free, std::optional(memory->free >> kToMib));
      add(figures::memory_used, std::optional(memory->used >> kToMib));
      add(figures::memory_reserved, std::optional(memory->reserved >> kToMib));
      add(figures::memory_total, std::optional(memory->total >> kToMib));
      if (memory->total > memory->reserved)
        add(figures::memory_used_share,
            std::optional(static_cast<double>(memory->used) / static_cast<double>(memory->total - memory->reserved)));
    } else if (const auto older = get<nvml::Memory>(nvml->nvmlDeviceGetMemoryInfo, device)) {
      add(figures::memory_free, std::optional(older->free >> kToMib));
      add(figures::memory_used, std::optional(older->used >> kToMib));  // includes reserved memory
      add(figures::memory_total, std::optional(older->total >> kToMib));
    }
  }
  void add_activity(const Activity& activity) {
    add(figures::graphics_active, activity.graphics);
    add(figures::tensor_active, activity.tensor);
    add(figures::dram_active, activity.dram);
    add(figures::pcie_sent, activity.pcie_sent);
    add(figures::pcie_received, activity.pcie_received);
  }
  void add_fields(const Fields& fields) {
    for (std::size_t i = 0; i < kFieldFigures.size(); ++i) add(*kFieldFigures[i].figure, nvml::count_of(fields[i]));
    const auto sent = nvml::count_of(fields[kNvLinkSent]), received = nvml::count_of(fields[kNvLinkReceived]);
    if (sent && received) add(figures::nvlink_traffic, std::optional(*sent + *received));
  }
  void add_sensors(const nvml::Library& nvml, nvml::Device device) {
    add(figures::sm_clock, get<unsigned>(nvml->nvmlDeviceGetClockInfo, device, nvml::kSmClock));
    add(figures::memory_clock, get<unsigned>(nvml->nvmlDeviceGetClockInfo, device, nvml::kMemoryClock));
    add(figures::temperature, read_temperature(nvml, device));
    add_watts(figures::power, nvml->nvmlDeviceGetPowerUsage, device);
    if (const auto rates = get<nvml::Utilization>(nvml->nvmlDeviceGetUtilizationRates, device)) {
      add(figures::utilization, std::optional(rates->gpu));
      add(figures::memory_utilization, std::optional(rates->memory));
    }
    add(figures::encoder_utilization, first_of_two(nvml->nvmlDeviceGetEncoderUtilization, device));
    add(figures::decoder_utilization, first_of_two(nvml->nvmlDeviceGetDecoderUtilization, device));
  }
  // Queries the GPU only for the figures that the operator named.
  void add_settings(const nvml::Library& nvml, nvml::Device device) {
    add_watts(figures::power_limit, nvml->nvmlDeviceGetEnforcedPowerLimit, device);
    add_watts(figures::default_power_limit, nvml->nvmlDeviceGetPowerManagementDefaultLimit, device);
    ask(figures::video_clock, nvml->nvmlDeviceGetClockInfo, device, unsigned{nvml::kVideoClock});
    ask(figures::slowdown_temperature, nvml->nvmlDeviceGetTemperatureThreshold, device,
        unsigned{nvml::kSlowdownTemperature});
    ask(figures::shutdown_temperature, nvml->nvmlDeviceGetTemperatureThreshold, device,
        unsigned{nvml::kShutdownTemperature});
    ask(figures::link_generation, nvml->nvmlDeviceGetCurrPcieLinkGeneration, device);
    ask(figures::link_width, nvml->nvmlDeviceGetCurrPcieLinkWidth, device);
    ask(figures::max_link_generation, nvml->nvmlDeviceGetMaxPcieLinkGeneration, device);
    ask(figures::max_link_width, nvml->nvmlDeviceGetMaxPcieLinkWidth, device);
    ask(figures::persistence_mode_figure, nvml->nvmlDeviceGetPersistenceMode, device);
    ask(figures::compute_mode_figure, nvml->nvmlDeviceGetComputeMode, device);
    if (choice_.has(figures::ecc_mode)) add(figures::ecc_mode, first_of_two(nvml->nvmlDeviceGetEccMode, device));
    const auto reasons = nvml->nvmlDeviceGetCurrentClocksEventReasons != nullptr
                             ? nvml->nvmlDeviceGetCurrentClocksEventReasons
                             : nvml->nvmlDeviceGetCurrentClocksThrottleReasons;  // before driver 535
    for (const Figure* figure : {&figures::clock_reasons, &figures::clock_reasons_old})
      if (choice_.has(*figure)) add(*figure, get<unsigned long long>(reasons, device));
  }

 private:
  template <class Function, class... Argument>
  void ask(const Figure& figure, Function function, nvml::Device device, Argument... argument) {
    if (choice_.has(figure)) add(figure, get<unsigned>(function, device, argument...));
  }
  void add_watts(const Figure& figure, nvml::Return (*function)(nvml::Device, unsigned*), nvml::Device device) {
    constexpr double kWattsPerMilliwatt = 0.001;
    if (!choice_.has(figure)) return;
    if (const auto milliwatts = get<unsigned>(function, device))
      add(figure, std::optional(*milliwatts * kWattsPerMilliwatt));
  }

  cage::Samples& samples_;
  const FigureChoice& choice_;
  const std::string device_;
  const Gpu& gpu_;
  const std::string& driver_version_;
  std::string index_, profile_, instance_;
};

Metrics::Metrics(Driver& driver, const Monitor& monitor, Offer offer, FigureChoice choice)
    : driver_(driver), monitor_(monitor), offer_(offer), choice_(std::move(choice)) {
  driver_.before_close([this] { sources_.clear(); });
}

void Metrics::collect(cage::Samples& samples) {
  // Without a GPU there is no reason to open the driver, and perhaps a reason to keep it closed.
  if (std::ranges::none_of(driver_.inventory().gpus, &SeenGpu::responds)) return;
  const nvml::Library* nvml = nullptr;
  try {
    nvml = &driver_.nvml();
  } catch (const cage::Error&) {
    return;  // discover states the fault
  }
  for (auto& [uuid, source] : sources_) source.is_current = false;
  for (const SeenGpu& seen : driver_.inventory().gpus)
    if (seen.responds()) collect_gpu(*nvml, seen, samples);
  std::erase_if(sources_, [](const auto& entry) { return !entry.second.is_current; });
}

void Metrics::collect_gpu(const nvml::Library& nvml, const SeenGpu& seen, cage::Samples& samples) {
  Source& source = sources_[seen.gpu.uuid];
  if (source.device == nullptr &&
      nvml->nvmlDeviceGetHandleByPciBusId_v2(seen.gpu.bus_id.c_str(), &source.device) != nvml::kSuccess)
    return;
  Fields fields{};
  const nvml::Return code = read_fields(nvml, source.device, fields);
  if (code != nvml::kSuccess && !nvml::means_absent(code)) return;  // the GPU does not respond: query it no further
  source.is_current = true;
  Row row(samples, choice_, is_device(seen, offer_) ? seen.gpu.uuid : std::string(), seen.gpu,
          driver_.inventory().versions.driver);
  row.add_fields(fields);
  row.add_sensors(nvml, source.device);
  row.add_memory(nvml, source.device);
  row.add_settings(nvml, source.device);
  row.add_xid(monitor_.last_xid(seen.gpu.uuid));
  row.add_activity(source.activity.measure(nvml, source.device, {}));
  for (const MigInstance& instance : seen.instances) collect_instance(nvml, seen, instance, source.device, samples);
}

void Metrics::collect_instance(const nvml::Library& nvml, const SeenGpu& seen, const MigInstance& instance,
                               nvml::Device gpu, cage::Samples& samples) {
  const auto profile = std::ranges::find(seen.profiles, instance.profile, &MigProfile::id);
  if (profile == seen.profiles.end()) return;
  Source& source = sources_[instance.uuid];
  if (source.device == nullptr || !has_uuid(nvml, source.device, instance.uuid))
    source = {.device = find_mig_device(nvml, gpu, instance), .activity = {}};
  if (source.device == nullptr) return;
  source.is_current = true;
  Row row(samples, choice_, device_id(seen, instance, offer_), seen.gpu, driver_.inventory().versions.driver);
  row.set_instance(profile->name, instance.gpu_instance);
  row.add_memory(nvml, source.device);
  row.add_activity(source.activity.measure(nvml, gpu, instance.gpu_instance));
}

}  // namespace cardcage::nvidia
