// Activity of a GPU's units: samples, and means between two of them.
//
// Source: NVML API reference, "GPM Functions".
#include <optional>

#include "sim/nvml/library/entry.h"

// The buffer that a program allocates. Its content is opaque to the program.
struct cardcage::nvml::GpmSampleHandle {
  unsigned long long taken;  // 0 = empty; counts samples, so that a later one is greater
  unsigned gpu, gi;          // gi: kNoInstance for the whole GPU
  cardcage::fake_nvml::GpmValues values;
};

using namespace cardcage::fake_nvml;

namespace {

Return take(State& world, const Gpu& gpu, unsigned gi, const GpmValues& values, nvml::GpmSample sample) {
  if (sample == nullptr) return nvml::kInvalidArgument;
  if (gpu.architecture < nvml::kHopper) return nvml::kNotSupported;
  *sample = {++world.gpm_samples, static_cast<unsigned>(&gpu - world.gpus), gi, values};
  return nvml::kSuccess;
}

std::optional<double> find(const nvml::GpmSampleHandle& sample, unsigned metric) {
  switch (metric) {
    case nvml::kGpmGraphicsUtil: return sample.values.graphics;
    case nvml::kGpmTensorUtil: return sample.values.tensor;
    case nvml::kGpmDramUtil: return sample.values.dram;
    default: break;
  }
  if (sample.gi != nvml::kNoInstance) return std::nullopt;
  switch (metric) {
    case nvml::kGpmPcieTx: return sample.values.pcie_tx;
    case nvml::kGpmPcieRx: return sample.values.pcie_rx;
    default: return std::nullopt;
  }
}

}  // namespace

Return nvmlGpmQueryDeviceSupport(nvml::Device device, nvml::GpmSupport* support) {
  return on_gpu(Call::nvmlGpmQueryDeviceSupport, device, [&](State&, Gpu& gpu) {
    if (support == nullptr) return nvml::kInvalidArgument;
    if (support->version != nvml::kGpmVersion) return nvml::kArgumentVersionMismatch;
    support->isSupportedDevice = gpu.architecture >= nvml::kHopper ? 1 : 0;
    return nvml::kSuccess;
  });
}

Return nvmlGpmSampleAlloc(nvml::GpmSample* sample) {
  return call(Call::nvmlGpmSampleAlloc, [&](State&, StateLock&) {
    if (sample == nullptr) return nvml::kInvalidArgument;
    *sample = new nvml::GpmSampleHandle{};
    return nvml::kSuccess;
  });
}

// Needs no driver.
Return nvmlGpmSampleFree(nvml::GpmSample sample) {
  State* world = state();
  if (world == nullptr) return nvml::kUninitialized;
  StateLock lock(*world);
  if (const Return code = enter(*world, lock, Call::nvmlGpmSampleFree); code != nvml::kSuccess) return code;
  if (sample == nullptr) return nvml::kInvalidArgument;
  delete sample;
  return nvml::kSuccess;
}

Return nvmlGpmSampleGet(nvml::Device device, nvml::GpmSample sample) {
  return on_gpu(Call::nvmlGpmSampleGet, device,
                [&](State& world, Gpu& gpu) { return take(world, gpu, nvml::kNoInstance, gpu.gpm, sample); });
}

Return nvmlGpmMigSampleGet(nvml::Device device, unsigned gpu_instance, nvml::GpmSample sample) {
  return on_gpu(Call::nvmlGpmMigSampleGet, device, [&](State& world, Gpu& gpu) {
    if (gpu_instance >= kMaxInstances || !gpu.instances[gpu_instance].used) return nvml::kInvalidArgument;
    return take(world, gpu, gpu_instance, gpu.instances[gpu_instance].gpm, sample);
  });
}

// Returns the values of the second sample, because sensors keep the values that a test set.
Return nvmlGpmMetricsGet(nvml::GpmMetricsGet* metrics) {
  return call(Call::nvmlGpmMetricsGet, [&](State&, StateLock&) {
    if (metrics == nullptr || metrics->sample1 == nullptr || metrics->sample2 == nullptr) return nvml::kInvalidArgument;
    if (metrics->version != nvml::kGpmVersion) return nvml::kArgumentVersionMismatch;
    const nvml::GpmSampleHandle &before = *metrics->sample1, &now = *metrics->sample2;
    const bool are_comparable = before.gpu == now.gpu && before.gi == now.gi;
    if (before.taken == 0 || before.taken >= now.taken || !are_comparable) return nvml::kInvalidArgument;
    if (metrics->numMetrics == 0 || metrics->numMetrics > std::size(metrics->metrics)) return nvml::kInvalidArgument;
    for (unsigned i = 0; i < metrics->numMetrics; ++i) {
      nvml::GpmMetric& metric = metrics->metrics[i];
      const auto found = find(now, metric.metricId);
      metric.nvmlReturn = found ? nvml::kSuccess : nvml::kNotSupported;
      metric.value = found.value_or(0);
    }
    return nvml::kSuccess;
  });
}
