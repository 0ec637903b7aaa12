// Functions of the fake library that the module does not call: other programs and tests do.
#pragma once

#include "modules/nvidia/nvml/functions.h"

#define CARDCAGE_NVML_MORE(F)                                                                         \
  F(nvmlSystemGetNVMLVersion, (char* version, unsigned size))                                         \
  F(nvmlDeviceGetHandleByUUID, (const char* uuid, nvml::Device* device))                              \
  F(nvmlDeviceGetBAR1MemoryInfo, (nvml::Device device, nvml::Bar1Memory * memory))                    \
  F(nvmlDeviceGetRowRemapperHistogram, (nvml::Device device, nvml::RowRemapperHistogram * histogram)) \
  F(nvmlDeviceIsMigDeviceHandle, (nvml::Device device, unsigned* is_mig))                             \
  F(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, (nvml::Device mig, nvml::Device * device))          \
  F(nvmlGpuInstanceGetComputeInstanceProfileInfoV,                                                    \
    (nvml::GpuInstance instance, unsigned profile, unsigned engine_profile, void* info))

#define CARDCAGE_NVML_ALL(F) CARDCAGE_NVML_REQUIRED(F) CARDCAGE_NVML_OPTIONAL(F) CARDCAGE_NVML_MORE(F)
