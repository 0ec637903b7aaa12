// Sizes, offsets, version tags and numbers of the NVML API reference, written as literals: a declaration in types.h
// that differs from the driver's does not compile here. They hold on x86_64 and aarch64 (LP64).
#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#include "modules/nvidia/nvml/types.h"

namespace cardcage::nvml {
namespace {

TEST(NvmlLayoutTest, Handles) {
  static_assert(std::is_pointer_v<Device> && sizeof(Device) == 8);
  static_assert(std::is_pointer_v<GpuInstance> && sizeof(GpuInstance) == 8);
  static_assert(std::is_pointer_v<ComputeInstance> && sizeof(ComputeInstance) == 8);
  static_assert(std::is_pointer_v<EventSet> && sizeof(EventSet) == 8);
  static_assert(std::is_pointer_v<GpmSample> && sizeof(GpmSample) == 8);
}

TEST(NvmlLayoutTest, Identity) {
  static_assert(sizeof(PciInfo) == 68);
  static_assert(offsetof(PciInfo, busIdLegacy) == 0 && sizeof(PciInfo::busIdLegacy) == 16);
  static_assert(offsetof(PciInfo, domain) == 16);
  static_assert(offsetof(PciInfo, bus) == 20);
  static_assert(offsetof(PciInfo, device) == 24);
  static_assert(offsetof(PciInfo, pciDeviceId) == 28);
  static_assert(offsetof(PciInfo, pciSubSystemId) == 32);
  static_assert(offsetof(PciInfo, busId) == 36 && sizeof(PciInfo::busId) == 32);

  static_assert(sizeof(ExcludedDeviceInfo) == 148);
  static_assert(offsetof(ExcludedDeviceInfo, pciInfo) == 0);
  static_assert(offsetof(ExcludedDeviceInfo, uuid) == 68 && sizeof(ExcludedDeviceInfo::uuid) == 80);

  static_assert(sizeof(PlatformInfo2) == 44 && tag<PlatformInfo2>() == 0x0200002c);
  static_assert(offsetof(PlatformInfo2, version) == 0);
  static_assert(offsetof(PlatformInfo2, ibGuid) == 4 && sizeof(PlatformInfo2::ibGuid) == 16);
  static_assert(offsetof(PlatformInfo2, chassisSerialNumber) == 20 && sizeof(PlatformInfo2::chassisSerialNumber) == 16);
  static_assert(offsetof(PlatformInfo2, slotNumber) == 36);
  static_assert(offsetof(PlatformInfo2, trayIndex) == 37);
  static_assert(offsetof(PlatformInfo2, hostId) == 38);
  static_assert(offsetof(PlatformInfo2, peerType) == 39);
  static_assert(offsetof(PlatformInfo2, moduleId) == 40 && sizeof(PlatformInfo2::moduleId) == 1);
}

TEST(NvmlLayoutTest, MemoryUseAndProcesses) {
  static_assert(sizeof(Memory) == 24);
  static_assert(offsetof(Memory, total) == 0);
  static_assert(offsetof(Memory, free) == 8);
  static_assert(offsetof(Memory, used) == 16);

  static_assert(sizeof(Memory2) == 40 && tag<Memory2>() == 0x02000028);
  static_assert(offsetof(Memory2, version) == 0);
  static_assert(offsetof(Memory2, total) == 8);
  static_assert(offsetof(Memory2, reserved) == 16);
  static_assert(offsetof(Memory2, free) == 24);
  static_assert(offsetof(Memory2, used) == 32);

  static_assert(sizeof(Bar1Memory) == 24);
  static_assert(offsetof(Bar1Memory, total) == 0);
  static_assert(offsetof(Bar1Memory, free) == 8);
  static_assert(offsetof(Bar1Memory, used) == 16);

  static_assert(sizeof(Utilization) == 8);
  static_assert(offsetof(Utilization, gpu) == 0);
  static_assert(offsetof(Utilization, memory) == 4);

  static_assert(sizeof(ProcessInfo1) == 16);
  static_assert(offsetof(ProcessInfo1, pid) == 0);
  static_assert(offsetof(ProcessInfo1, usedGpuMemory) == 8);

  static_assert(sizeof(ProcessInfo) == 24);
  static_assert(offsetof(ProcessInfo, pid) == 0);
  static_assert(offsetof(ProcessInfo, usedGpuMemory) == 8);
  static_assert(offsetof(ProcessInfo, gpuInstanceId) == 16);
  static_assert(offsetof(ProcessInfo, computeInstanceId) == 20);

  static_assert(sizeof(LongProcessInfo) == 32);
  static_assert(offsetof(LongProcessInfo, process) == 0);
  static_assert(offsetof(LongProcessInfo, usedGpuCcProtectedMemory) == 24);
}

TEST(NvmlLayoutTest, EventsAndFields) {
  static_assert(sizeof(EventData) == 32);
  static_assert(offsetof(EventData, device) == 0);
  static_assert(offsetof(EventData, eventType) == 8 && sizeof(EventData::eventType) == 8);
  static_assert(offsetof(EventData, eventData) == 16 && sizeof(EventData::eventData) == 8);
  static_assert(offsetof(EventData, gpuInstanceId) == 24);
  static_assert(offsetof(EventData, computeInstanceId) == 28);

  static_assert(sizeof(FieldValue) == 40);
  static_assert(offsetof(FieldValue, fieldId) == 0);
  static_assert(offsetof(FieldValue, scopeId) == 4);
  static_assert(offsetof(FieldValue, timestamp) == 8);
  static_assert(offsetof(FieldValue, latencyUsec) == 16);
  static_assert(offsetof(FieldValue, valueType) == 24);
  static_assert(offsetof(FieldValue, nvmlReturn) == 28);
  static_assert(offsetof(FieldValue, value) == 32 && sizeof(FieldValue::value) == 8);
}

TEST(NvmlLayoutTest, MigDevicesAndPlacements) {
  static_assert(sizeof(DeviceAttributes) == 40);
  static_assert(offsetof(DeviceAttributes, multiprocessorCount) == 0);
  static_assert(offsetof(DeviceAttributes, sharedCopyEngineCount) == 4);
  static_assert(offsetof(DeviceAttributes, sharedDecoderCount) == 8);
  static_assert(offsetof(DeviceAttributes, sharedEncoderCount) == 12);
  static_assert(offsetof(DeviceAttributes, sharedJpegCount) == 16);
  static_assert(offsetof(DeviceAttributes, sharedOfaCount) == 20);
  static_assert(offsetof(DeviceAttributes, gpuInstanceSliceCount) == 24);
  static_assert(offsetof(DeviceAttributes, computeInstanceSliceCount) == 28);
  static_assert(offsetof(DeviceAttributes, memorySizeMB) == 32 && sizeof(DeviceAttributes::memorySizeMB) == 8);

  static_assert(sizeof(Placement) == 8);
  static_assert(offsetof(Placement, start) == 0);
  static_assert(offsetof(Placement, size) == 4);

  static_assert(sizeof(GpuInstanceInfo) == 24);
  static_assert(offsetof(GpuInstanceInfo, device) == 0);
  static_assert(offsetof(GpuInstanceInfo, id) == 8);
  static_assert(offsetof(GpuInstanceInfo, profileId) == 12);
  static_assert(offsetof(GpuInstanceInfo, placement) == 16);

  static_assert(sizeof(ComputeInstanceInfo) == 32);
  static_assert(offsetof(ComputeInstanceInfo, device) == 0);
  static_assert(offsetof(ComputeInstanceInfo, gpuInstance) == 8);
  static_assert(offsetof(ComputeInstanceInfo, id) == 16);
  static_assert(offsetof(ComputeInstanceInfo, profileId) == 20);
  static_assert(offsetof(ComputeInstanceInfo, placement) == 24);
}

TEST(NvmlLayoutTest, GpuInstanceProfiles) {
  static_assert(sizeof(GpuInstanceProfileInfo) == 48);
  static_assert(offsetof(GpuInstanceProfileInfo, id) == 0);
  static_assert(offsetof(GpuInstanceProfileInfo, isP2pSupported) == 4);
  static_assert(offsetof(GpuInstanceProfileInfo, sliceCount) == 8);
  static_assert(offsetof(GpuInstanceProfileInfo, instanceCount) == 12);
  static_assert(offsetof(GpuInstanceProfileInfo, multiprocessorCount) == 16);
  static_assert(offsetof(GpuInstanceProfileInfo, copyEngineCount) == 20);
  static_assert(offsetof(GpuInstanceProfileInfo, decoderCount) == 24);
  static_assert(offsetof(GpuInstanceProfileInfo, encoderCount) == 28);
  static_assert(offsetof(GpuInstanceProfileInfo, jpegCount) == 32);
  static_assert(offsetof(GpuInstanceProfileInfo, ofaCount) == 36);
  static_assert(offsetof(GpuInstanceProfileInfo, memorySizeMB) == 40);

  static_assert(sizeof(GpuInstanceProfileInfo2) == 152 && tag<GpuInstanceProfileInfo2>() == 0x02000098);
  static_assert(offsetof(GpuInstanceProfileInfo2, version) == 0);
  static_assert(offsetof(GpuInstanceProfileInfo2, id) == 4);
  static_assert(offsetof(GpuInstanceProfileInfo2, isP2pSupported) == 8);
  static_assert(offsetof(GpuInstanceProfileInfo2, sliceCount) == 12);
  static_assert(offsetof(GpuInstanceProfileInfo2, instanceCount) == 16);
  static_assert(offsetof(GpuInstanceProfileInfo2, multiprocessorCount) == 20);
  static_assert(offsetof(GpuInstanceProfileInfo2, copyEngineCount) == 24);
  static_assert(offsetof(GpuInstanceProfileInfo2, decoderCount) == 28);
  static_assert(offsetof(GpuInstanceProfileInfo2, encoderCount) == 32);
  static_assert(offsetof(GpuInstanceProfileInfo2, jpegCount) == 36);
  static_assert(offsetof(GpuInstanceProfileInfo2, ofaCount) == 40);
  static_assert(offsetof(GpuInstanceProfileInfo2, memorySizeMB) == 48);
  static_assert(offsetof(GpuInstanceProfileInfo2, name) == 56 && sizeof(GpuInstanceProfileInfo2::name) == 96);

  static_assert(sizeof(GpuInstanceProfileInfo3) == 152 && tag<GpuInstanceProfileInfo3>() == 0x03000098);
  static_assert(offsetof(GpuInstanceProfileInfo3, version) == 0);
  static_assert(offsetof(GpuInstanceProfileInfo3, id) == 4);
  static_assert(offsetof(GpuInstanceProfileInfo3, sliceCount) == 8);
  static_assert(offsetof(GpuInstanceProfileInfo3, instanceCount) == 12);
  static_assert(offsetof(GpuInstanceProfileInfo3, multiprocessorCount) == 16);
  static_assert(offsetof(GpuInstanceProfileInfo3, copyEngineCount) == 20);
  static_assert(offsetof(GpuInstanceProfileInfo3, decoderCount) == 24);
  static_assert(offsetof(GpuInstanceProfileInfo3, encoderCount) == 28);
  static_assert(offsetof(GpuInstanceProfileInfo3, jpegCount) == 32);
  static_assert(offsetof(GpuInstanceProfileInfo3, ofaCount) == 36);
  static_assert(offsetof(GpuInstanceProfileInfo3, memorySizeMB) == 40);
  static_assert(offsetof(GpuInstanceProfileInfo3, name) == 48 && sizeof(GpuInstanceProfileInfo3::name) == 96);
  static_assert(offsetof(GpuInstanceProfileInfo3, capabilities) == 144);
}

TEST(NvmlLayoutTest, ComputeInstanceProfiles) {
  static_assert(sizeof(ComputeInstanceProfileInfo) == 36);
  static_assert(offsetof(ComputeInstanceProfileInfo, id) == 0);
  static_assert(offsetof(ComputeInstanceProfileInfo, sliceCount) == 4);
  static_assert(offsetof(ComputeInstanceProfileInfo, instanceCount) == 8);
  static_assert(offsetof(ComputeInstanceProfileInfo, multiprocessorCount) == 12);
  static_assert(offsetof(ComputeInstanceProfileInfo, sharedCopyEngineCount) == 16);
  static_assert(offsetof(ComputeInstanceProfileInfo, sharedDecoderCount) == 20);
  static_assert(offsetof(ComputeInstanceProfileInfo, sharedEncoderCount) == 24);
  static_assert(offsetof(ComputeInstanceProfileInfo, sharedJpegCount) == 28);
  static_assert(offsetof(ComputeInstanceProfileInfo, sharedOfaCount) == 32);

  static_assert(sizeof(ComputeInstanceProfileInfo2) == 136 && tag<ComputeInstanceProfileInfo2>() == 0x02000088);
  static_assert(offsetof(ComputeInstanceProfileInfo2, version) == 0);
  static_assert(offsetof(ComputeInstanceProfileInfo2, id) == 4);
  static_assert(offsetof(ComputeInstanceProfileInfo2, sliceCount) == 8);
  static_assert(offsetof(ComputeInstanceProfileInfo2, instanceCount) == 12);
  static_assert(offsetof(ComputeInstanceProfileInfo2, multiprocessorCount) == 16);
  static_assert(offsetof(ComputeInstanceProfileInfo2, sharedCopyEngineCount) == 20);
  static_assert(offsetof(ComputeInstanceProfileInfo2, sharedDecoderCount) == 24);
  static_assert(offsetof(ComputeInstanceProfileInfo2, sharedEncoderCount) == 28);
  static_assert(offsetof(ComputeInstanceProfileInfo2, sharedJpegCount) == 32);
  static_assert(offsetof(ComputeInstanceProfileInfo2, sharedOfaCount) == 36);
  static_assert(offsetof(ComputeInstanceProfileInfo2, name) == 40 && sizeof(ComputeInstanceProfileInfo2::name) == 96);
}

TEST(NvmlLayoutTest, Fabric) {
  static_assert(sizeof(GpuFabricInfo) == 28);
  static_assert(offsetof(GpuFabricInfo, clusterUuid) == 0 && sizeof(GpuFabricInfo::clusterUuid) == 16);
  static_assert(offsetof(GpuFabricInfo, status) == 16);
  static_assert(offsetof(GpuFabricInfo, cliqueId) == 20);
  static_assert(offsetof(GpuFabricInfo, state) == 24 && sizeof(GpuFabricInfo::state) == 1);

  static_assert(sizeof(GpuFabricInfo2) == 36 && tag<GpuFabricInfo2>() == 0x02000024);
  static_assert(offsetof(GpuFabricInfo2, version) == 0);
  static_assert(offsetof(GpuFabricInfo2, clusterUuid) == 4 && sizeof(GpuFabricInfo2::clusterUuid) == 16);
  static_assert(offsetof(GpuFabricInfo2, status) == 20);
  static_assert(offsetof(GpuFabricInfo2, cliqueId) == 24);
  static_assert(offsetof(GpuFabricInfo2, state) == 28 && sizeof(GpuFabricInfo2::state) == 1);
  static_assert(offsetof(GpuFabricInfo2, healthMask) == 32);

  static_assert(sizeof(GpuFabricInfo3) == 40 && tag<GpuFabricInfo3>() == 0x03000028);
  static_assert(offsetof(GpuFabricInfo3, version) == 0);
  static_assert(offsetof(GpuFabricInfo3, clusterUuid) == 4 && sizeof(GpuFabricInfo3::clusterUuid) == 16);
  static_assert(offsetof(GpuFabricInfo3, status) == 20);
  static_assert(offsetof(GpuFabricInfo3, cliqueId) == 24);
  static_assert(offsetof(GpuFabricInfo3, state) == 28 && sizeof(GpuFabricInfo3::state) == 1);
  static_assert(offsetof(GpuFabricInfo3, healthMask) == 32);
  static_assert(offsetof(GpuFabricInfo3, healthSummary) == 36 && sizeof(GpuFabricInfo3::healthSummary) == 1);
}

TEST(NvmlLayoutTest, MemoryRepairAndEcc) {
  static_assert(sizeof(RemappedRows2) == 24);
  static_assert(offsetof(RemappedRows2, correctableActive) == 0);
  static_assert(offsetof(RemappedRows2, correctableInactive) == 4);
  static_assert(offsetof(RemappedRows2, uncorrectableActive) == 8);
  static_assert(offsetof(RemappedRows2, uncorrectableInactive) == 12);
  static_assert(offsetof(RemappedRows2, pending) == 16);
  static_assert(offsetof(RemappedRows2, failure) == 20);

  static_assert(sizeof(RowRemapperHistogram) == 20);
  static_assert(offsetof(RowRemapperHistogram, max) == 0);
  static_assert(offsetof(RowRemapperHistogram, high) == 4);
  static_assert(offsetof(RowRemapperHistogram, partial) == 8);
  static_assert(offsetof(RowRemapperHistogram, low) == 12);
  static_assert(offsetof(RowRemapperHistogram, none) == 16);

  static_assert(sizeof(EccSramErrorStatus) == 104 && tag<EccSramErrorStatus>() == 0x01000068);
  static_assert(offsetof(EccSramErrorStatus, version) == 0);
  static_assert(offsetof(EccSramErrorStatus, aggregateUncParity) == 8);
  static_assert(offsetof(EccSramErrorStatus, aggregateUncSecDed) == 16);
  static_assert(offsetof(EccSramErrorStatus, aggregateCor) == 24);
  static_assert(offsetof(EccSramErrorStatus, volatileUncParity) == 32);
  static_assert(offsetof(EccSramErrorStatus, volatileUncSecDed) == 40);
  static_assert(offsetof(EccSramErrorStatus, volatileCor) == 48);
  static_assert(offsetof(EccSramErrorStatus, aggregateUncBucketL2) == 56);
  static_assert(offsetof(EccSramErrorStatus, aggregateUncBucketSm) == 64);
  static_assert(offsetof(EccSramErrorStatus, aggregateUncBucketPcie) == 72);
  static_assert(offsetof(EccSramErrorStatus, aggregateUncBucketMcu) == 80);
  static_assert(offsetof(EccSramErrorStatus, aggregateUncBucketOther) == 88);
  static_assert(offsetof(EccSramErrorStatus, thresholdExceeded) == 96);
}

TEST(NvmlLayoutTest, Gpm) {
  static_assert(sizeof(GpmSupport) == 8);
  static_assert(offsetof(GpmSupport, version) == 0);
  static_assert(offsetof(GpmSupport, isSupportedDevice) == 4);

  static_assert(sizeof(GpmMetric) == 40);
  static_assert(offsetof(GpmMetric, metricId) == 0);
  static_assert(offsetof(GpmMetric, nvmlReturn) == 4);
  static_assert(offsetof(GpmMetric, value) == 8);
  static_assert(offsetof(GpmMetric, metricInfo) == 16 && sizeof(GpmMetric::metricInfo) == 24);

  static_assert(sizeof(GpmMetricsGet) == 24 + 333 * 40);
  static_assert(offsetof(GpmMetricsGet, version) == 0);
  static_assert(offsetof(GpmMetricsGet, numMetrics) == 4);
  static_assert(offsetof(GpmMetricsGet, sample1) == 8);
  static_assert(offsetof(GpmMetricsGet, sample2) == 16);
  static_assert(offsetof(GpmMetricsGet, metrics) == 24);
}

TEST(NvmlLayoutTest, TemperatureAndModes) {
  static_assert(sizeof(Temperature) == 12 && tag<Temperature>() == 0x0100000c);
  static_assert(offsetof(Temperature, version) == 0);
  static_assert(offsetof(Temperature, sensorType) == 4);
  static_assert(offsetof(Temperature, temperature) == 8);

  static_assert(sizeof(MarginTemperature) == 8 && tag<MarginTemperature>() == 0x01000008);
  static_assert(offsetof(MarginTemperature, version) == 0);
  static_assert(offsetof(MarginTemperature, marginTemperature) == 4);
  static_assert(std::is_signed_v<decltype(MarginTemperature::marginTemperature)>);

  static_assert(sizeof(DeviceAddressingMode) == 8 && tag<DeviceAddressingMode>() == 0x01000008);
  static_assert(offsetof(DeviceAddressingMode, version) == 0);
  static_assert(offsetof(DeviceAddressingMode, value) == 4);

  static_assert(sizeof(C2cModeInfo) == 4);
  static_assert(offsetof(C2cModeInfo, isC2cEnabled) == 0);
}

}  // namespace
}  // namespace cardcage::nvml
