// Identity and sensors of a GPU.
#include <iterator>

#include "sim/nvml/library/entry.h"
#include "sim/nvml/library/tags.h"

using namespace cardcage::fake_nvml;

namespace {

// Most getters return one number of the GPU.
template <class T, class M>
Return give_member(Call id, nvml::Device device, T* to, M Gpu::* member) {
  return on_gpu(id, device, [&](State&, Gpu& gpu) { return give(to, gpu.*member); });
}

unsigned long long used_memory(const Target& target) {
  unsigned long long used = target.instance == nullptr ? target.gpu.memory_used : 0;
  for (unsigned i = 0; i < target.gpu.process_count; ++i) {
    const Process& process = target.gpu.processes[i];
    if (target.instance == nullptr || process.gi == target.gi) used += process.bytes;
  }
  return used;
}

// Version 1 counts reserved memory as used.
Return memory_of(const Target& target, nvml::Memory2& memory) {
  if (!target.gpu.memory_supported) return nvml::kNotSupported;
  const bool mig = target.instance != nullptr;
  memory.total = mig ? target.gpu.profiles[target.instance->profile].memory_mib << 20 : target.gpu.memory_total;
  memory.reserved = mig ? 0 : target.gpu.memory_reserved;
  memory.used = used_memory(target);
  const unsigned long long taken = memory.used + memory.reserved;
  memory.free = taken < memory.total ? memory.total - taken : 0;
  return nvml::kSuccess;
}

Return utilization(Call id, nvml::Device device, unsigned Gpu::* percent, unsigned* to, unsigned* period_us) {
  return on_gpu(id, device, [&](State&, Gpu& gpu) {
    if (gpu.mig_mode == nvml::kEnabled) return nvml::kNotSupported;
    if (const Return code = give(period_us, 167000); code != nvml::kSuccess) return code;
    return give(to, gpu.*percent);
  });
}

}  // namespace

Return nvmlDeviceGetUUID(nvml::Device device, char* uuid, unsigned size) {
  return on_device(Call::nvmlDeviceGetUUID, device, [&](State&, const Target& target) {
    return give_text(target.compute != nullptr ? target.compute->uuid : target.gpu.uuid, uuid, size);
  });
}

Return nvmlDeviceGetName(nvml::Device device, char* name, unsigned size) {
  return on_device(Call::nvmlDeviceGetName, device, [&](State&, const Target& target) {
    std::string text = target.gpu.name;
    if (target.instance != nullptr) text += std::string(" ") + target.gpu.profiles[target.instance->profile].name;
    return give_text(text, name, size);
  });
}

Return nvmlDeviceGetMinorNumber(nvml::Device device, unsigned* minor) {
  return give_member(Call::nvmlDeviceGetMinorNumber, device, minor, &Gpu::minor);
}

Return nvmlDeviceGetPciInfo_v3(nvml::Device device, nvml::PciInfo* pci) {
  return on_gpu(Call::nvmlDeviceGetPciInfo_v3, device, [&](State&, Gpu& gpu) {
    if (pci == nullptr) return nvml::kInvalidArgument;
    *pci = {};
    copy_text(pci->busIdLegacy, sizeof pci->busIdLegacy, bus_id(gpu, 4, true));
    copy_text(pci->busId, sizeof pci->busId, bus_id(gpu, 8, true));
    pci->domain = gpu.domain;
    pci->bus = gpu.bus;
    pci->device = gpu.device;
    pci->pciDeviceId = gpu.pci_id;
    pci->pciSubSystemId = gpu.pci_subsystem;
    return nvml::kSuccess;
  });
}

Return nvmlDeviceGetSerial(nvml::Device device, char* serial, unsigned size) {
  return on_gpu(Call::nvmlDeviceGetSerial, device, [&](State&, Gpu& gpu) {
    return gpu.serial[0] == '\0' ? nvml::kNotSupported : give_text(gpu.serial, serial, size);
  });
}

Return nvmlDeviceGetModuleId(nvml::Device device, unsigned* id) {
  return give_member(Call::nvmlDeviceGetModuleId, device, id, &Gpu::module_id);
}

Return nvmlDeviceGetBrand(nvml::Device device, unsigned* brand) {
  return on_device(Call::nvmlDeviceGetBrand, device,
                   [&](State&, const Target& target) { return give(brand, target.gpu.brand); });
}

Return nvmlDeviceGetArchitecture(nvml::Device device, unsigned* architecture) {
  return on_device(Call::nvmlDeviceGetArchitecture, device,
                   [&](State&, const Target& target) { return give(architecture, target.gpu.architecture); });
}

Return nvmlDeviceGetCudaComputeCapability(nvml::Device device, int* major, int* minor) {
  return on_device(Call::nvmlDeviceGetCudaComputeCapability, device, [&](State&, const Target& target) {
    if (const Return code = give(major, target.gpu.major); code != nvml::kSuccess) return code;
    return give(minor, target.gpu.minor_capability);
  });
}

Return nvmlDeviceGetVirtualizationMode(nvml::Device device, unsigned* mode) {
  return on_gpu(Call::nvmlDeviceGetVirtualizationMode, device,
                [&](State&, Gpu& gpu) { return give(mode, gpu.virtualization); });
}

Return nvmlDeviceGetAddressingMode(nvml::Device device, nvml::DeviceAddressingMode* mode) {
  return on_gpu(Call::nvmlDeviceGetAddressingMode, device, [&](State&, Gpu& gpu) {
    if (const Return code = check_tag(mode); code != nvml::kSuccess) return code;
    mode->value = gpu.addressing;
    return nvml::kSuccess;
  });
}

Return nvmlDeviceGetMemoryInfo_v2(nvml::Device device, nvml::Memory2* memory) {
  return on_device(Call::nvmlDeviceGetMemoryInfo_v2, device, [&](State&, const Target& target) {
    const Return code = check_tag(memory);
    return code != nvml::kSuccess ? code : memory_of(target, *memory);
  });
}

Return nvmlDeviceGetMemoryInfo(nvml::Device device, nvml::Memory* memory) {
  return on_device(Call::nvmlDeviceGetMemoryInfo, device, [&](State&, const Target& target) {
    nvml::Memory2 found{};
    if (memory == nullptr) return nvml::kInvalidArgument;
    if (const Return code = memory_of(target, found); code != nvml::kSuccess) return code;
    *memory = {found.total, found.free, found.used + found.reserved};
    return nvml::kSuccess;
  });
}

Return nvmlDeviceGetBAR1MemoryInfo(nvml::Device device, nvml::Bar1Memory* memory) {
  return on_gpu(Call::nvmlDeviceGetBAR1MemoryInfo, device, [&](State&, Gpu& gpu) {
    constexpr unsigned long long kUsed = 1 << 20;
    return give(memory, nvml::Bar1Memory{gpu.bar1_total, gpu.bar1_total - kUsed, kUsed});
  });
}

Return nvmlDeviceGetComputeMode(nvml::Device device, unsigned* mode) {
  return give_member(Call::nvmlDeviceGetComputeMode, device, mode, &Gpu::compute_mode);
}

Return nvmlDeviceSetComputeMode(nvml::Device device, unsigned mode) {
  return on_gpu(Call::nvmlDeviceSetComputeMode, device, [&](State&, Gpu& gpu) {
    if (mode > nvml::kComputeExclusiveProcess) return nvml::kInvalidArgument;
    if (mode == 1) return nvml::kNotSupported;  // the mode exclusive by thread was removed
    gpu.compute_mode = mode;
    return nvml::kSuccess;
  });
}

Return nvmlDeviceGetPersistenceMode(nvml::Device device, unsigned* mode) {
  return give_member(Call::nvmlDeviceGetPersistenceMode, device, mode, &Gpu::persistence);
}

Return nvmlDeviceSetPersistenceMode(nvml::Device device, unsigned mode) {
  return on_gpu(Call::nvmlDeviceSetPersistenceMode, device, [&](State&, Gpu& gpu) {
    if (mode > nvml::kEnabled) return nvml::kInvalidArgument;
    gpu.persistence = mode;
    return nvml::kSuccess;
  });
}

Return nvmlDeviceGetClockInfo(nvml::Device device, unsigned type, unsigned* mhz) {
  return on_gpu(Call::nvmlDeviceGetClockInfo, device, [&](State&, Gpu& gpu) {
    return type > nvml::kVideoClock ? nvml::kInvalidArgument : give(mhz, gpu.clocks[type]);
  });
}

Return nvmlDeviceGetCurrentClocksEventReasons(nvml::Device device, unsigned long long* reasons) {
  return give_member(Call::nvmlDeviceGetCurrentClocksEventReasons, device, reasons, &Gpu::clock_reasons);
}

Return nvmlDeviceGetCurrentClocksThrottleReasons(nvml::Device device, unsigned long long* reasons) {
  return give_member(Call::nvmlDeviceGetCurrentClocksThrottleReasons, device, reasons, &Gpu::clock_reasons);
}

Return nvmlDeviceGetPowerUsage(nvml::Device device, unsigned* milliwatts) {
  return give_member(Call::nvmlDeviceGetPowerUsage, device, milliwatts, &Gpu::power_mw);
}

Return nvmlDeviceGetEnforcedPowerLimit(nvml::Device device, unsigned* milliwatts) {
  return give_member(Call::nvmlDeviceGetEnforcedPowerLimit, device, milliwatts, &Gpu::power_limit_mw);
}

Return nvmlDeviceGetPowerManagementDefaultLimit(nvml::Device device, unsigned* milliwatts) {
  return give_member(Call::nvmlDeviceGetPowerManagementDefaultLimit, device, milliwatts, &Gpu::power_default_mw);
}

Return nvmlDeviceGetTotalEnergyConsumption(nvml::Device device, unsigned long long* millijoules) {
  return give_member(Call::nvmlDeviceGetTotalEnergyConsumption, device, millijoules, &Gpu::energy_mj);
}

Return nvmlDeviceGetTemperatureV(nvml::Device device, nvml::Temperature* temperature) {
  return on_gpu(Call::nvmlDeviceGetTemperatureV, device, [&](State&, Gpu& gpu) {
    if (const Return code = check_tag(temperature); code != nvml::kSuccess) return code;
    if (temperature->sensorType != 0) return nvml::kInvalidArgument;
    temperature->temperature = static_cast<int>(gpu.temperature);
    return nvml::kSuccess;
  });
}

Return nvmlDeviceGetTemperature(nvml::Device device, unsigned sensor, unsigned* celsius) {
  return on_gpu(Call::nvmlDeviceGetTemperature, device, [&](State&, Gpu& gpu) {
    return sensor != 0 ? nvml::kInvalidArgument : give(celsius, gpu.temperature);
  });
}

// Ada and later have limits relative to the margin instead.
Return nvmlDeviceGetTemperatureThreshold(nvml::Device device, unsigned threshold, unsigned* celsius) {
  return on_gpu(Call::nvmlDeviceGetTemperatureThreshold, device, [&](State&, Gpu& gpu) {
    if (threshold >= std::size(gpu.thresholds)) return nvml::kInvalidArgument;
    if (gpu.architecture >= nvml::kAda || gpu.thresholds[threshold] == 0) return nvml::kNotSupported;
    return give(celsius, gpu.thresholds[threshold]);
  });
}

Return nvmlDeviceGetMarginTemperature(nvml::Device device, nvml::MarginTemperature* margin) {
  return on_gpu(Call::nvmlDeviceGetMarginTemperature, device, [&](State&, Gpu& gpu) {
    if (const Return code = check_tag(margin); code != nvml::kSuccess) return code;
    if (branch() < 570 || gpu.architecture < nvml::kAda) return nvml::kNotSupported;
    margin->marginTemperature = gpu.margin;
    return nvml::kSuccess;
  });
}

Return nvmlDeviceGetUtilizationRates(nvml::Device device, nvml::Utilization* rates) {
  return on_gpu(Call::nvmlDeviceGetUtilizationRates, device, [&](State&, Gpu& gpu) {
    if (gpu.mig_mode == nvml::kEnabled) return nvml::kNotSupported;
    return give(rates, nvml::Utilization{gpu.gpu_percent, gpu.memory_percent});
  });
}

Return nvmlDeviceGetEncoderUtilization(nvml::Device device, unsigned* percent, unsigned* period_us) {
  return utilization(Call::nvmlDeviceGetEncoderUtilization, device, &Gpu::encoder_percent, percent, period_us);
}

Return nvmlDeviceGetDecoderUtilization(nvml::Device device, unsigned* percent, unsigned* period_us) {
  return utilization(Call::nvmlDeviceGetDecoderUtilization, device, &Gpu::decoder_percent, percent, period_us);
}

Return nvmlDeviceGetCurrPcieLinkGeneration(nvml::Device device, unsigned* generation) {
  return give_member(Call::nvmlDeviceGetCurrPcieLinkGeneration, device, generation, &Gpu::pcie_generation);
}

Return nvmlDeviceGetMaxPcieLinkGeneration(nvml::Device device, unsigned* generation) {
  return give_member(Call::nvmlDeviceGetMaxPcieLinkGeneration, device, generation, &Gpu::pcie_max_generation);
}

Return nvmlDeviceGetCurrPcieLinkWidth(nvml::Device device, unsigned* lanes) {
  return give_member(Call::nvmlDeviceGetCurrPcieLinkWidth, device, lanes, &Gpu::pcie_width);
}

Return nvmlDeviceGetMaxPcieLinkWidth(nvml::Device device, unsigned* lanes) {
  return give_member(Call::nvmlDeviceGetMaxPcieLinkWidth, device, lanes, &Gpu::pcie_max_width);
}

Return nvmlDeviceGetPcieReplayCounter(nvml::Device device, unsigned* replays) {
  return give_member(Call::nvmlDeviceGetPcieReplayCounter, device, replays, &Gpu::pcie_replays);
}
