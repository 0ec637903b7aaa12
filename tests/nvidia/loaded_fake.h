// A tree of fake GPUs with its libnvidia-ml.so.1 loaded into this process, as a program loads it.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "modules/nvidia/nvml/functions.h"
#include "sim/nvml/fake_gpus.h"
#include "sim/scratch_folder.h"

namespace cardcage {

// A zeroed struct with its version set.
template <class T>
T tagged(unsigned version) {
  T zeroed{};
  zeroed.version = version;
  return zeroed;
}
inline nvml::FieldValue field_with_id(unsigned id) {
  nvml::FieldValue zeroed{};
  zeroed.fieldId = id;
  return zeroed;
}

class LoadedFake {
 public:
  explicit LoadedFake(const FakeNode& node = {}) : gpus(folder / "node", node) { load(); }
  LoadedFake(const LoadedFake&) = delete;
  LoadedFake& operator=(const LoadedFake&) = delete;
  ~LoadedFake() { unload(); }

  // Opens the library file that the tree has now, and initializes it.
  void load() {
    const std::string file = gpus.driver_root() / "usr/lib64/libnvidia-ml.so.1";
    library_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error("dlopen failed: " + file);
    call = {};
#define CARDCAGE_FIND(name, parameters) call.name = find<nvml::Return parameters>(#name);
    CARDCAGE_NVML_REQUIRED(CARDCAGE_FIND)
    CARDCAGE_NVML_OPTIONAL(CARDCAGE_FIND)
#undef CARDCAGE_FIND
    if (call.nvmlInit_v2 == nullptr) throw std::runtime_error("no nvmlInit_v2 in " + file);
    init_code = call.nvmlInit_v2();
  }
  void unload() {
    if (library_ == nullptr) return;
    if (init_code == nvml::kSuccess) call.nvmlShutdown();
    ::dlclose(library_);
    library_ = nullptr;
  }

  // Null if the library does not export it.
  template <class Signature>
  Signature* find(const char* name) const {
    return reinterpret_cast<Signature*>(::dlsym(library_, name));
  }
  bool exports(const char* name) const { return ::dlsym(library_, name) != nullptr; }

  nvml::Device device(unsigned index = 0) const {
    nvml::Device device = nullptr;
    if (call.nvmlDeviceGetHandleByIndex_v2(index, &device) != nvml::kSuccess) throw std::runtime_error("no such GPU");
    return device;
  }
  // Turns MIG mode on, at once on Hopper and later, by a reset on Ampere.
  void enable_mig(int gpu = 0) {
    nvml::Return activation = nvml::kUnknown;
    if (call.nvmlDeviceSetMigMode(device(static_cast<unsigned>(gpu)), 1, &activation) != nvml::kSuccess)
      throw std::runtime_error("MIG mode refused");
    if (activation != nvml::kSuccess) gpus.reset(gpu);
  }
  nvml::Return create(nvml::Device device, unsigned profile_id, nvml::Placement placement,
                      nvml::GpuInstance& instance) const {
    return call.nvmlDeviceCreateGpuInstanceWithPlacement(device, profile_id, &placement, &instance);
  }

  ScratchFolder folder;
  FakeGpus gpus;
  nvml::Functions call;
  nvml::Return init_code = nvml::kUninitialized;

 private:
  void* library_ = nullptr;
};

}  // namespace cardcage
