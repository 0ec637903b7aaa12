// Values by number.
//
// Source: nvml.h, "Field Identifiers".
#include <chrono>
#include <optional>

#include "sim/nvml/library/entry.h"

using namespace cardcage::fake_nvml;

namespace {

struct Found {
  nvml::ValueType type;
  long long value;
};

Found unsigned_value(unsigned value) { return {nvml::kUnsigned, value}; }
Found long_value(unsigned long long value) { return {nvml::kUnsignedLongLong, static_cast<long long>(value)}; }
Found signed_value(int value) { return {nvml::kInt, value}; }

unsigned first_branch(unsigned id) {
  switch (id) {
    case nvml::kFieldShutdownTlimit:
    case nvml::kFieldSlowdownTlimit:
    case nvml::kFieldMemoryTlimit:
    case nvml::kFieldGpuMaxTlimit:
    case nvml::kFieldResetlessMig: return 535;
    case nvml::kFieldPcieTxBytes:
    case nvml::kFieldPcieRxBytes: return 555;
    case nvml::kFieldRecoveryAction: return 565;
    default: return 0;
  }
}

std::optional<Found> ecc_field(const Gpu& gpu, unsigned id) {
  if (!gpu.ecc_supported || gpu.ecc_mode != nvml::kEnabled) return std::nullopt;
  switch (id) {
    case nvml::kFieldEccSbeVolatile: return long_value(gpu.ecc[nvml::kCorrected][nvml::kVolatile]);
    case nvml::kFieldEccDbeVolatile: return long_value(gpu.ecc[nvml::kUncorrected][nvml::kVolatile]);
    case nvml::kFieldEccSbeAggregate: return long_value(gpu.ecc[nvml::kCorrected][nvml::kAggregate]);
    case nvml::kFieldEccDbeAggregate: return long_value(gpu.ecc[nvml::kUncorrected][nvml::kAggregate]);
    default: return std::nullopt;
  }
}

std::optional<Found> repair_field(const Gpu& gpu, unsigned id) {
  if (gpu.retires_pages) {
    switch (id) {
      case nvml::kFieldRetiredSbe: return unsigned_value(gpu.retired_pages[nvml::kMultipleSingleBit]);
      case nvml::kFieldRetiredDbe: return unsigned_value(gpu.retired_pages[nvml::kDoubleBit]);
      case nvml::kFieldRetiredPending: return unsigned_value(gpu.retirement_pending);
      default: break;
    }
  }
  if (!gpu.remaps_rows) return std::nullopt;
  switch (id) {
    case nvml::kFieldRemappedCorrectable: return unsigned_value(gpu.rows.correctableActive);
    case nvml::kFieldRemappedUncorrectable: return unsigned_value(gpu.rows.uncorrectableActive);
    case nvml::kFieldRemapPending: return unsigned_value(gpu.rows.pending);
    case nvml::kFieldRemapFailure: return unsigned_value(gpu.rows.failure);
    default: return std::nullopt;
  }
}

std::optional<Found> sensor_field(const Gpu& gpu, unsigned id) {
  switch (id) {
    case nvml::kFieldPowerViolation:
    case nvml::kFieldThermalViolation:
    case nvml::kFieldSyncBoostViolation:
    case nvml::kFieldBoardLimitViolation:
    case nvml::kFieldLowUtilViolation:
    case nvml::kFieldReliabilityViolation: return long_value(gpu.violations_ns[id - nvml::kFieldPowerViolation]);
    case nvml::kFieldMemoryTemperature:
      return gpu.memory_temperature == 0 ? std::nullopt : std::optional(unsigned_value(gpu.memory_temperature));
    case nvml::kFieldEnergy: return long_value(gpu.energy_mj);
    case nvml::kFieldPcieReplay: return unsigned_value(gpu.pcie_replays);
    case nvml::kFieldPowerAverage:
    case nvml::kFieldPowerInstant: return unsigned_value(gpu.power_mw);
    case nvml::kFieldPcieTxBytes:
    case nvml::kFieldPcieRxBytes: return long_value(0);
    case nvml::kFieldRecoveryAction: return unsigned_value(gpu.recovery_action);
    case nvml::kFieldResetlessMig: return unsigned_value(gpu.mig_resetless ? 1 : 0);
    case nvml::kFieldNvLinkCount: return unsigned_value(gpu.link_count);
    default: break;
  }
  if (gpu.architecture < nvml::kAda) return std::nullopt;
  switch (id) {
    case nvml::kFieldShutdownTlimit: return signed_value(gpu.shutdown_tlimit);
    case nvml::kFieldSlowdownTlimit: return signed_value(gpu.slowdown_tlimit);
    case nvml::kFieldMemoryTlimit: return signed_value(gpu.memory_tlimit);
    case nvml::kFieldGpuMaxTlimit: return signed_value(gpu.max_tlimit);
    default: return std::nullopt;
  }
}

std::optional<Found> link_field(const Gpu& gpu, unsigned id, unsigned scope) {
  if (id != nvml::kFieldNvLinkDataTx && id != nvml::kFieldNvLinkDataRx) return std::nullopt;
  if (gpu.link_count == 0 || (scope != nvml::kAllLinks && scope >= gpu.link_count)) return std::nullopt;
  return long_value(gpu.nvlink_kib[id - nvml::kFieldNvLinkDataTx]);
}

std::optional<Found> find(const Gpu& gpu, unsigned id, unsigned scope) {
  if (branch() < first_branch(id)) return std::nullopt;
  if (const auto found = ecc_field(gpu, id)) return found;
  if (const auto found = repair_field(gpu, id)) return found;
  if (const auto found = link_field(gpu, id, scope)) return found;
  return sensor_field(gpu, id);
}

void store(nvml::FieldValue& to, const Found& found) {
  to.valueType = found.type;
  to.value.ull = 0;
  switch (found.type) {
    case nvml::kUnsigned: to.value.u = static_cast<unsigned>(found.value); break;
    case nvml::kInt: to.value.s = static_cast<int>(found.value); break;
    default: to.value.sll = found.value; break;
  }
}

void fill(const Gpu& gpu, nvml::FieldValue& to) {
  to.timestamp =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  to.latencyUsec = 1;
  auto found = find(gpu, to.fieldId, to.scopeId);
  to.nvmlReturn = found ? nvml::kSuccess : nvml::kNotSupported;
  for (const Field& field : gpu.fields) {
    if (!field.used || field.id != to.fieldId || branch() < first_branch(field.id)) continue;
    found = Found{found ? found->type : nvml::kUnsignedLongLong, static_cast<long long>(field.value)};
    to.nvmlReturn = field.code;
  }
  if (to.nvmlReturn == nvml::kSuccess) store(to, *found);
}

}  // namespace

Return nvmlDeviceGetFieldValues(nvml::Device device, int count, nvml::FieldValue* values) {
  return on_gpu(Call::nvmlDeviceGetFieldValues, device, [&](State&, Gpu& gpu) {
    if (count <= 0 || values == nullptr) return nvml::kInvalidArgument;
    for (int i = 0; i < count; ++i) fill(gpu, values[i]);
    return nvml::kSuccess;
  });
}
