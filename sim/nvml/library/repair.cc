// ECC and the repair of memory.
#include <algorithm>

#include "sim/nvml/library/entry.h"
#include "sim/nvml/library/tags.h"

using namespace cardcage::fake_nvml;

namespace {

// Rows are hidden while MIG instances exist.
bool shows_rows(const Gpu& gpu) { return gpu.remaps_rows && std::ranges::none_of(gpu.instances, &Instance::used); }

}  // namespace

Return nvmlDeviceGetEccMode(nvml::Device device, unsigned* current, unsigned* pending) {
  return on_gpu(Call::nvmlDeviceGetEccMode, device, [&](State&, Gpu& gpu) {
    if (!gpu.ecc_supported) return nvml::kNotSupported;
    if (const Return code = give(current, gpu.ecc_mode); code != nvml::kSuccess) return code;
    return give(pending, gpu.ecc_pending);
  });
}

Return nvmlDeviceGetTotalEccErrors(nvml::Device device, unsigned error_type, unsigned counter,
                                   unsigned long long* errors) {
  return on_gpu(Call::nvmlDeviceGetTotalEccErrors, device, [&](State&, Gpu& gpu) {
    if (!gpu.ecc_supported || gpu.ecc_mode != nvml::kEnabled) return nvml::kNotSupported;
    if (error_type > nvml::kUncorrected || counter > nvml::kAggregate) return nvml::kInvalidArgument;
    return give(errors, gpu.ecc[error_type][counter]);
  });
}

Return nvmlDeviceGetSramEccErrorStatus(nvml::Device device, nvml::EccSramErrorStatus* status) {
  return on_gpu(Call::nvmlDeviceGetSramEccErrorStatus, device, [&](State&, Gpu& gpu) {
    if (const Return code = check_tag(status); code != nvml::kSuccess) return code;
    if (gpu.architecture < nvml::kAmpere) return nvml::kNotSupported;
    *status = gpu.sram;
    status->version = nvml::tag<nvml::EccSramErrorStatus>();
    return nvml::kSuccess;
  });
}

Return nvmlDeviceGetRetiredPages_v2(nvml::Device device, unsigned cause, unsigned* count, unsigned long long* addresses,
                                    unsigned long long* timestamps) {
  return on_gpu(Call::nvmlDeviceGetRetiredPages_v2, device, [&](State&, Gpu& gpu) {
    if (!gpu.retires_pages) return nvml::kNotSupported;
    if (cause > nvml::kDoubleBit || count == nullptr) return nvml::kInvalidArgument;
    const unsigned room = *count;
    *count = gpu.retired_pages[cause];
    if (room < *count) return nvml::kInsufficientSize;
    for (unsigned i = 0; i < *count; ++i) {
      if (addresses != nullptr) addresses[i] = 0x10000ULL * (i + 1);
      if (timestamps != nullptr) timestamps[i] = 1'700'000'000'000'000ULL + i;
    }
    return nvml::kSuccess;
  });
}

Return nvmlDeviceGetRetiredPagesPendingStatus(nvml::Device device, unsigned* pending) {
  return on_gpu(Call::nvmlDeviceGetRetiredPagesPendingStatus, device, [&](State&, Gpu& gpu) {
    return gpu.retires_pages ? give(pending, gpu.retirement_pending) : nvml::kNotSupported;
  });
}

Return nvmlDeviceGetRemappedRows_v2(nvml::Device device, nvml::RemappedRows2* rows) {
  return on_gpu(Call::nvmlDeviceGetRemappedRows_v2, device,
                [&](State&, Gpu& gpu) { return shows_rows(gpu) ? give(rows, gpu.rows) : nvml::kNotSupported; });
}

Return nvmlDeviceGetRemappedRows(nvml::Device device, unsigned* correctable, unsigned* uncorrectable, unsigned* pending,
                                 unsigned* failure) {
  return on_gpu(Call::nvmlDeviceGetRemappedRows, device, [&](State&, Gpu& gpu) {
    if (!shows_rows(gpu)) return nvml::kNotSupported;
    const nvml::RemappedRows2& rows = gpu.rows;
    if (const Return code = give(correctable, rows.correctableActive); code != nvml::kSuccess) return code;
    if (const Return code = give(uncorrectable, rows.uncorrectableActive); code != nvml::kSuccess) return code;
    if (const Return code = give(pending, rows.pending); code != nvml::kSuccess) return code;
    return give(failure, rows.failure);
  });
}

Return nvmlDeviceGetRowRemapperHistogram(nvml::Device device, nvml::RowRemapperHistogram* histogram) {
  return on_gpu(Call::nvmlDeviceGetRowRemapperHistogram, device,
                [&](State&, Gpu& gpu) { return gpu.remaps_rows ? give(histogram, gpu.banks) : nvml::kNotSupported; });
}
