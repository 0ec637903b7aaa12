// The system, and the search for GPUs.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "sim/nvml/library/entry.h"

namespace cardcage::fake_nvml {
namespace {

bool counted(const Gpu& gpu) { return gpu.present; }

// Translates the library's index into one of the State: removed GPUs leave no gap in the library's.
unsigned find_index(const State& state, unsigned index) {
  for (unsigned i = 0; i < state.gpu_count; ++i) {
    if (counted(state.gpus[i]) && index-- == 0) return i;
  }
  return kNoSlot;
}

unsigned cuda_version(unsigned branch) {
  struct Row {
    unsigned branch;
    int version;
  };
  static constexpr Row kRows[] = {{590, 13010}, {580, 13000}, {575, 12090}, {570, 12080}, {565, 12070}, {560, 12060},
                                  {555, 12050}, {550, 12040}, {545, 12030}, {535, 12020}, {530, 12010}, {525, 12000},
                                  {520, 11080}, {515, 11070}, {510, 11060}, {495, 11050}};
  const Row* row = std::ranges::find_if(kRows, [branch](const Row& candidate) { return branch >= candidate.branch; });
  return static_cast<unsigned>(row == std::end(kRows) ? 11040 : row->version);
}

void claim_client(State& state) {
  sweep_clients(state, self().folder);
  Client* client = std::ranges::find(state.clients, false, &Client::used);
  if (client == std::end(state.clients)) return;
  const unsigned slot = static_cast<unsigned>(client - state.clients);
  self().fd = ::open((std::filesystem::path(self().folder) / kStateFile).c_str(), O_RDWR | O_CLOEXEC);
  if (self().fd < 0 || !hold_client_lock(self().fd, slot)) return;
  *client = {true, static_cast<unsigned>(::getpid()), 0};
  self().client = slot;
}

// An event set that was not freed keeps its GPU open until the process ends (seen with 580.159.04 on an H200).
void release_client(State& state) {
  const bool has_sets =
      std::ranges::any_of(state.sets, [](const EventQueue& set) { return set.used && set.client == self().client; });
  if (self().client != kNoSlot && !has_sets) state.clients[self().client] = {};
  if (self().fd >= 0 && !has_sets) ::close(self().fd);
  self().client = kNoSlot;
  self().fd = -1;
  announce(state);
}

Return init(Call id, unsigned flags) {
  State* world = state();
  if (world == nullptr) return nvml::kDriverNotLoaded;
  StateLock lock(*world);
  if (const Return code = enter(*world, lock, id); code != nvml::kSuccess) return code;
  if (!world->loaded) return nvml::kDriverNotLoaded;
  if (!version_matches(*world)) return nvml::kLibRmVersionMismatch;
  if ((flags & nvml::kInitNoGpus) == 0 && find_index(*world, 0) == kNoSlot) return nvml::kNotFound;
  self().ever = true;
  if (self().inits++ == 0) claim_client(*world);
  return nvml::kSuccess;
}

// "0000:3B:00.0" and "00000000:3b:00.0" are equal.
bool same_bus_id(const Gpu& gpu, std::string given) {
  std::ranges::transform(given, given.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return given == bus_id(gpu, 4) || given == bus_id(gpu, 8);
}

}  // namespace
}  // namespace cardcage::fake_nvml

using namespace cardcage::fake_nvml;

Return nvmlInit_v2() { return init(Call::nvmlInit_v2, 0); }

Return nvmlInitWithFlags(unsigned flags) { return init(Call::nvmlInitWithFlags, flags); }

Return nvmlShutdown() {
  State* world = state();
  if (world == nullptr) return nvml::kUninitialized;
  StateLock lock(*world);
  if (const Return code = enter(*world, lock, Call::nvmlShutdown); code != nvml::kSuccess) return code;
  if (self().inits == 0) return self().ever ? nvml::kSuccess : nvml::kUninitialized;
  if (--self().inits > 0) return nvml::kSuccess;
  ++self().epoch;
  release_client(*world);
  return nvml::kSuccess;
}

const char* nvmlErrorString(Return code) {
  switch (code) {
    case nvml::kSuccess: return "Success";
    case nvml::kUninitialized: return "Uninitialized";
    case nvml::kInvalidArgument: return "Invalid Argument";
    case nvml::kNotSupported: return "Not Supported";
    case nvml::kNoPermission: return "Insufficient Permissions";
    case nvml::kNotFound: return "Not Found";
    case nvml::kInsufficientSize: return "Insufficient Size";
    case nvml::kDriverNotLoaded: return "Driver Not Loaded";
    case nvml::kTimeout: return "Timeout";
    case nvml::kLibraryNotFound: return "Shared Library Not Found";
    case nvml::kFunctionNotFound: return "Function Not Found";
    case nvml::kGpuIsLost: return "GPU is lost";
    case nvml::kResetRequired: return "GPU requires reset";
    case nvml::kLibRmVersionMismatch: return "Driver/library version mismatch";
    case nvml::kInUse: return "In use by another client";
    case nvml::kInsufficientResources: return "Insufficient Resources";
    case nvml::kArgumentVersionMismatch: return "Argument version mismatch";
    default: return "Unknown Error";
  }
}

Return nvmlSystemGetDriverVersion(char* version, unsigned size) {
  return call(Call::nvmlSystemGetDriverVersion,
              [&](State& state, StateLock&) { return give_text(state.kernel_version, version, size); });
}

Return nvmlSystemGetNVMLVersion(char* version, unsigned size) {
  return call(Call::nvmlSystemGetNVMLVersion, [&](State& state, StateLock&) {
    return give_text(std::string("12.") + (self().version[0] == '\0' ? state.kernel_version : self().version), version,
                     size);
  });
}

Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return call(Call::nvmlSystemGetCudaDriverVersion_v2, [&](State&, StateLock&) {
    std::error_code ignored;
    if (!std::filesystem::exists(std::filesystem::path(self().folder) / "libcuda.so.1", ignored))
      return nvml::kLibraryNotFound;
    return give(version, cuda_version(branch()));
  });
}

Return nvmlSystemGetCudaDriverVersion(int* version) {
  return call(Call::nvmlSystemGetCudaDriverVersion,
              [&](State&, StateLock&) { return give(version, cuda_version(branch())); });
}

Return nvmlDeviceGetCount_v2(unsigned* count) {
  return call(Call::nvmlDeviceGetCount_v2, [&](State& state, StateLock&) {
    return give(count, std::count_if(state.gpus, state.gpus + state.gpu_count, counted));
  });
}

Return nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml::Device* device) {
  return call(Call::nvmlDeviceGetHandleByIndex_v2, [&](State& state, StateLock&) {
    const unsigned gpu = find_index(state, index);
    return gpu == kNoSlot ? nvml::kInvalidArgument : attach(state, gpu, device);
  });
}

Return nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvml::Device* device) {
  return call(Call::nvmlDeviceGetHandleByPciBusId_v2, [&](State& state, StateLock&) {
    if (bus_id == nullptr) return nvml::kInvalidArgument;
    for (unsigned i = 0; i < state.gpu_count; ++i) {
      if (counted(state.gpus[i]) && same_bus_id(state.gpus[i], bus_id)) return attach(state, i, device);
    }
    return nvml::kNotFound;
  });
}

Return nvmlDeviceGetHandleByUUID(const char* uuid, nvml::Device* device) {
  return call(Call::nvmlDeviceGetHandleByUUID, [&](State& state, StateLock&) {
    if (uuid == nullptr || device == nullptr) return nvml::kInvalidArgument;
    for (unsigned i = 0; i < state.gpu_count; ++i) {
      const Gpu& gpu = state.gpus[i];
      if (!counted(gpu)) continue;
      // The search attaches each GPU in turn.
      if (gpu.lost) return nvml::kGpuIsLost;
      if (std::strcmp(gpu.uuid, uuid) == 0) return attach(state, i, device);
      for (const MigDevice& mig : gpu.mig_devices) {
        if (!mig.used || std::strcmp(gpu.instances[mig.gi].computes[mig.ci].uuid, uuid) != 0) continue;
        *device = mig_handle(state, i, mig.gi, mig.ci);
        return nvml::kSuccess;
      }
    }
    return nvml::kNotFound;
  });
}

Return nvmlDeviceGetIndex(nvml::Device device, unsigned* index) {
  return on_gpu(Call::nvmlDeviceGetIndex, device,
                [&](State& state, Gpu& gpu) { return give(index, std::count_if(state.gpus, &gpu, counted)); });
}
