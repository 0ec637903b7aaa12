// The functions of NVML that the module calls. A driver may lack any function after the first group, which means that
// the GPU or the driver does not have that feature.
#pragma once

#include "modules/nvidia/nvml/types.h"

// F(name, parameters) for each; all return nvml::Return. Without the first group the library is useless.
#define CARDCAGE_NVML_REQUIRED(F)                                                 \
  F(nvmlInit_v2, ())                                                              \
  F(nvmlShutdown, ())                                                             \
  F(nvmlDeviceGetCount_v2, (unsigned* count))                                     \
  F(nvmlDeviceGetHandleByIndex_v2, (unsigned index, nvml::Device* device))        \
  F(nvmlDeviceGetHandleByPciBusId_v2, (const char* bus_id, nvml::Device* device)) \
  F(nvmlDeviceGetUUID, (nvml::Device device, char* uuid, unsigned size))          \
  F(nvmlDeviceGetName, (nvml::Device device, char* name, unsigned size))          \
  F(nvmlDeviceGetMinorNumber, (nvml::Device device, unsigned* minor))             \
  F(nvmlDeviceGetPciInfo_v3, (nvml::Device device, nvml::PciInfo * pci))

#define CARDCAGE_NVML_OPTIONAL(F)                                                                                     \
  /* The system. */                                                                                                   \
  F(nvmlInitWithFlags, (unsigned flags))                                                                              \
  F(nvmlSystemGetDriverVersion, (char* version, unsigned size))                                                       \
  F(nvmlSystemGetCudaDriverVersion_v2, (int* version))                                                                \
  F(nvmlSystemGetCudaDriverVersion, (int* version))                                                                   \
  /* Identity. */                                                                                                     \
  F(nvmlDeviceGetIndex, (nvml::Device device, unsigned* index))                                                       \
  F(nvmlDeviceGetSerial, (nvml::Device device, char* serial, unsigned size))                                          \
  F(nvmlDeviceGetModuleId, (nvml::Device device, unsigned* id))                                                       \
  F(nvmlDeviceGetBrand, (nvml::Device device, unsigned* brand))                                                       \
  F(nvmlDeviceGetArchitecture, (nvml::Device device, unsigned* architecture))                                         \
  F(nvmlDeviceGetCudaComputeCapability, (nvml::Device device, int* major, int* minor))                                \
  F(nvmlDeviceGetVirtualizationMode, (nvml::Device device, unsigned* mode))                                           \
  F(nvmlDeviceGetAddressingMode, (nvml::Device device, nvml::DeviceAddressingMode * mode))                            \
  /* Memory, modes, clocks, power, temperature. */                                                                    \
  F(nvmlDeviceGetMemoryInfo_v2, (nvml::Device device, nvml::Memory2 * memory))                                        \
  F(nvmlDeviceGetMemoryInfo, (nvml::Device device, nvml::Memory * memory))                                            \
  F(nvmlDeviceGetComputeMode, (nvml::Device device, unsigned* mode))                                                  \
  F(nvmlDeviceSetComputeMode, (nvml::Device device, unsigned mode))                                                   \
  F(nvmlDeviceGetPersistenceMode, (nvml::Device device, unsigned* mode))                                              \
  F(nvmlDeviceSetPersistenceMode, (nvml::Device device, unsigned mode))                                               \
  F(nvmlDeviceGetClockInfo, (nvml::Device device, unsigned type, unsigned* mhz))                                      \
  F(nvmlDeviceGetCurrentClocksEventReasons, (nvml::Device device, unsigned long long* reasons))                       \
  F(nvmlDeviceGetCurrentClocksThrottleReasons, (nvml::Device device, unsigned long long* reasons))                    \
  F(nvmlDeviceGetPowerUsage, (nvml::Device device, unsigned* milliwatts))                                             \
  F(nvmlDeviceGetEnforcedPowerLimit, (nvml::Device device, unsigned* milliwatts))                                     \
  F(nvmlDeviceGetPowerManagementDefaultLimit, (nvml::Device device, unsigned* milliwatts))                            \
  F(nvmlDeviceGetTotalEnergyConsumption, (nvml::Device device, unsigned long long* millijoules))                      \
  F(nvmlDeviceGetTemperatureV, (nvml::Device device, nvml::Temperature * temperature))                                \
  F(nvmlDeviceGetTemperature, (nvml::Device device, unsigned sensor, unsigned* celsius))                              \
  F(nvmlDeviceGetMarginTemperature, (nvml::Device device, nvml::MarginTemperature * margin))                          \
  F(nvmlDeviceGetTemperatureThreshold, (nvml::Device device, unsigned threshold, unsigned* celsius))                  \
  F(nvmlDeviceGetUtilizationRates, (nvml::Device device, nvml::Utilization * rates))                                  \
  F(nvmlDeviceGetEncoderUtilization, (nvml::Device device, unsigned* percent, unsigned* period_us))                   \
  F(nvmlDeviceGetDecoderUtilization, (nvml::Device device, unsigned* percent, unsigned* period_us))                   \
  /* PCIe. */                                                                                                         \
  F(nvmlDeviceGetCurrPcieLinkGeneration, (nvml::Device device, unsigned* generation))                                 \
  F(nvmlDeviceGetMaxPcieLinkGeneration, (nvml::Device device, unsigned* generation))                                  \
  F(nvmlDeviceGetCurrPcieLinkWidth, (nvml::Device device, unsigned* lanes))                                           \
  F(nvmlDeviceGetMaxPcieLinkWidth, (nvml::Device device, unsigned* lanes))                                            \
  F(nvmlDeviceGetPcieReplayCounter, (nvml::Device device, unsigned* replays))                                         \
  /* ECC and the repair of memory. */                                                                                 \
  F(nvmlDeviceGetEccMode, (nvml::Device device, unsigned* current, unsigned* pending))                                \
  F(nvmlDeviceGetTotalEccErrors,                                                                                      \
    (nvml::Device device, unsigned error_type, unsigned counter, unsigned long long* errors))                         \
  F(nvmlDeviceGetSramEccErrorStatus, (nvml::Device device, nvml::EccSramErrorStatus * status))                        \
  F(nvmlDeviceGetRetiredPages_v2, (nvml::Device device, unsigned cause, unsigned* count,                              \
                                   unsigned long long* addresses, unsigned long long* timestamps))                    \
  F(nvmlDeviceGetRetiredPagesPendingStatus, (nvml::Device device, unsigned* pending))                                 \
  F(nvmlDeviceGetRemappedRows_v2, (nvml::Device device, nvml::RemappedRows2 * rows))                                  \
  F(nvmlDeviceGetRemappedRows,                                                                                        \
    (nvml::Device device, unsigned* correctable, unsigned* uncorrectable, unsigned* pending, unsigned* failure))      \
  /* Processes: v3 and v2 have the same layout. */                                                                    \
  F(nvmlDeviceGetComputeRunningProcesses_v3, (nvml::Device device, unsigned* count, nvml::ProcessInfo* processes))    \
  F(nvmlDeviceGetComputeRunningProcesses_v2, (nvml::Device device, unsigned* count, nvml::ProcessInfo* processes))    \
  F(nvmlDeviceGetGraphicsRunningProcesses_v3, (nvml::Device device, unsigned* count, nvml::ProcessInfo* processes))   \
  F(nvmlDeviceGetGraphicsRunningProcesses_v2, (nvml::Device device, unsigned* count, nvml::ProcessInfo* processes))   \
  F(nvmlDeviceGetMPSComputeRunningProcesses_v3, (nvml::Device device, unsigned* count, nvml::ProcessInfo* processes)) \
  /* NVLink, topology, fabric. */                                                                                     \
  F(nvmlDeviceGetNvLinkState, (nvml::Device device, unsigned link, unsigned* state))                                  \
  F(nvmlDeviceGetNvLinkRemotePciInfo_v2, (nvml::Device device, unsigned link, nvml::PciInfo* pci))                    \
  F(nvmlDeviceGetNvLinkRemoteDeviceType, (nvml::Device device, unsigned link, unsigned* type))                        \
  F(nvmlDeviceGetTopologyCommonAncestor, (nvml::Device one, nvml::Device other, unsigned* level))                     \
  F(nvmlDeviceGetGpuFabricInfoV, (nvml::Device device, void* info))                                                   \
  F(nvmlDeviceGetGpuFabricInfo, (nvml::Device device, nvml::GpuFabricInfo * info))                                    \
  F(nvmlDeviceGetFieldValues, (nvml::Device device, int count, nvml::FieldValue* values))                             \
  /* MIG. */                                                                                                          \
  F(nvmlDeviceGetMigMode, (nvml::Device device, unsigned* current, unsigned* pending))                                \
  F(nvmlDeviceSetMigMode, (nvml::Device device, unsigned mode, nvml::Return* activation))                             \
  F(nvmlDeviceGetMaxMigDeviceCount, (nvml::Device device, unsigned* count))                                           \
  F(nvmlDeviceGetMigDeviceHandleByIndex, (nvml::Device device, unsigned index, nvml::Device* mig))                    \
  F(nvmlDeviceGetGpuInstanceId, (nvml::Device mig, unsigned* id))                                                     \
  F(nvmlDeviceGetComputeInstanceId, (nvml::Device mig, unsigned* id))                                                 \
  F(nvmlDeviceGetAttributes_v2, (nvml::Device mig, nvml::DeviceAttributes * attributes))                              \
  F(nvmlDeviceGetGpuInstanceProfileInfoV, (nvml::Device device, unsigned profile, void* info))                        \
  F(nvmlDeviceGetGpuInstanceProfileInfo, (nvml::Device device, unsigned profile, nvml::GpuInstanceProfileInfo* info)) \
  F(nvmlDeviceGetGpuInstancePossiblePlacements_v2,                                                                    \
    (nvml::Device device, unsigned profile_id, nvml::Placement* placements, unsigned* count))                         \
  F(nvmlDeviceGetGpuInstances,                                                                                        \
    (nvml::Device device, unsigned profile_id, nvml::GpuInstance* instances, unsigned* count))                        \
  F(nvmlDeviceGetGpuInstanceById, (nvml::Device device, unsigned id, nvml::GpuInstance* instance))                    \
  F(nvmlDeviceCreateGpuInstanceWithPlacement,                                                                         \
    (nvml::Device device, unsigned profile_id, const nvml::Placement* placement, nvml::GpuInstance* instance))        \
  F(nvmlGpuInstanceGetInfo, (nvml::GpuInstance instance, nvml::GpuInstanceInfo * info))                               \
  F(nvmlGpuInstanceDestroy, (nvml::GpuInstance instance))                                                             \
  F(nvmlGpuInstanceGetComputeInstanceProfileInfo,                                                                     \
    (nvml::GpuInstance instance, unsigned profile, unsigned engine_profile, nvml::ComputeInstanceProfileInfo* info))  \
  F(nvmlGpuInstanceCreateComputeInstance,                                                                             \
    (nvml::GpuInstance instance, unsigned profile_id, nvml::ComputeInstance* compute))                                \
  F(nvmlGpuInstanceGetComputeInstances,                                                                               \
    (nvml::GpuInstance instance, unsigned profile_id, nvml::ComputeInstance* instances, unsigned* count))             \
  F(nvmlGpuInstanceGetComputeInstanceById, (nvml::GpuInstance instance, unsigned id, nvml::ComputeInstance* compute)) \
  F(nvmlComputeInstanceGetInfo_v2, (nvml::ComputeInstance instance, nvml::ComputeInstanceInfo * info))                \
  F(nvmlComputeInstanceDestroy, (nvml::ComputeInstance instance))                                                     \
  /* Activity of a GPU's units. */                                                                                    \
  F(nvmlGpmQueryDeviceSupport, (nvml::Device device, nvml::GpmSupport * support))                                     \
  F(nvmlGpmSampleAlloc, (nvml::GpmSample * sample))                                                                   \
  F(nvmlGpmSampleFree, (nvml::GpmSample sample))                                                                      \
  F(nvmlGpmSampleGet, (nvml::Device device, nvml::GpmSample sample))                                                  \
  F(nvmlGpmMigSampleGet, (nvml::Device device, unsigned gpu_instance, nvml::GpmSample sample))                        \
  F(nvmlGpmMetricsGet, (nvml::GpmMetricsGet * metrics))                                                               \
  /* Events. */                                                                                                       \
  F(nvmlEventSetCreate, (nvml::EventSet * set))                                                                       \
  F(nvmlEventSetFree, (nvml::EventSet set))                                                                           \
  F(nvmlEventSetWait_v2, (nvml::EventSet set, nvml::EventData * data, unsigned timeout_ms))                           \
  F(nvmlDeviceGetSupportedEventTypes, (nvml::Device device, unsigned long long* types))                               \
  F(nvmlDeviceRegisterEvents, (nvml::Device device, unsigned long long types, nvml::EventSet set))

namespace cardcage::nvml {

// One member per function, null if the library does not have it.
struct Functions {
#define CARDCAGE_NVML_MEMBER(name, parameters) nvml::Return(*name) parameters = nullptr;
  CARDCAGE_NVML_REQUIRED(CARDCAGE_NVML_MEMBER)
  CARDCAGE_NVML_OPTIONAL(CARDCAGE_NVML_MEMBER)
#undef CARDCAGE_NVML_MEMBER
  const char* (*nvmlErrorString)(nvml::Return code) = nullptr;
};

}  // namespace cardcage::nvml
