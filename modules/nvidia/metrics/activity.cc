#include "modules/nvidia/metrics/activity.h"

#include <iterator>
#include <utility>

namespace cardcage::nvidia {
namespace {

constexpr double kPerPercent = 0.01, kBytesPerMib = 1 << 20;

bool is_supported(const nvml::Library& nvml, nvml::Device gpu) {
  const bool has_functions = nvml->nvmlGpmQueryDeviceSupport != nullptr && nvml->nvmlGpmSampleAlloc != nullptr &&
                             nvml->nvmlGpmSampleFree != nullptr && nvml->nvmlGpmSampleGet != nullptr &&
                             nvml->nvmlGpmMigSampleGet != nullptr && nvml->nvmlGpmMetricsGet != nullptr;
  nvml::GpmSupport support{.version = nvml::kGpmVersion, .isSupportedDevice = 0};
  return has_functions && nvml->nvmlGpmQueryDeviceSupport(gpu, &support) == nvml::kSuccess &&
         support.isSupportedDevice != 0;
}

Activity between(const nvml::Library& nvml, nvml::GpmSample before, nvml::GpmSample now) {
  struct Rate {
    nvml::GpmMetricId id;
    std::optional<double> Activity::* to;
    double unit;
  };
  static constexpr Rate kRates[] = {{nvml::kGpmGraphicsUtil, &Activity::graphics, kPerPercent},
                                    {nvml::kGpmTensorUtil, &Activity::tensor, kPerPercent},
                                    {nvml::kGpmDramUtil, &Activity::dram, kPerPercent},
                                    {nvml::kGpmPcieTx, &Activity::pcie_sent, kBytesPerMib},
                                    {nvml::kGpmPcieRx, &Activity::pcie_received, kBytesPerMib}};
  nvml::GpmMetricsGet request{};
  request.version = nvml::kGpmVersion;
  request.numMetrics = std::size(kRates);
  request.sample1 = before;
  request.sample2 = now;
  for (std::size_t i = 0; i < std::size(kRates); ++i) request.metrics[i].metricId = kRates[i].id;
  Activity activity;
  if (nvml->nvmlGpmMetricsGet(&request) != nvml::kSuccess) return activity;
  for (std::size_t i = 0; i < std::size(kRates); ++i)
    if (request.metrics[i].nvmlReturn == nvml::kSuccess)
      activity.*kRates[i].to = request.metrics[i].value * kRates[i].unit;
  return activity;
}

}  // namespace

Activity ActivityMeter::measure(const nvml::Library& nvml, nvml::Device gpu, std::optional<unsigned> gpu_instance) {
  if (!is_supported_) is_supported_ = is_supported(nvml, gpu);
  if (!*is_supported_) return {};
  if (!now_) {
    nvml::GpmSample made = nullptr;
    if (nvml->nvmlGpmSampleAlloc(&made) != nvml::kSuccess) return {};
    now_ = Sample(made, nvml->nvmlGpmSampleFree);
  }
  const nvml::Return taken = gpu_instance ? nvml->nvmlGpmMigSampleGet(gpu, *gpu_instance, now_.get())
                                          : nvml->nvmlGpmSampleGet(gpu, now_.get());
  if (taken != nvml::kSuccess) {
    before_.reset();
    return {};
  }
  const Activity activity = before_ ? between(nvml, before_.get(), now_.get()) : Activity{};
  std::swap(before_, now_);
  return activity;
}

}  // namespace cardcage::nvidia
