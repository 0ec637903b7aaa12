#include "sim/nvml/library/entry.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace cardcage::fake_nvml {
namespace {

using std::chrono::steady_clock;
constexpr std::chrono::seconds kLongestHang{120};
constexpr const char* kFilePrefix = "libnvidia-ml.so.";

constinit Self g_self{};

// Runs while the loader still has the opened path.
__attribute__((constructor)) void find_self() {
  Dl_info found{};
  char file[PATH_MAX] = {};
  if (::dladdr(reinterpret_cast<const void*>(&find_self), &found) == 0 || ::realpath(found.dli_fname, file) == nullptr)
    return;
  const std::filesystem::path path = file, folder = path.parent_path();
  copy_text(g_self.folder, sizeof g_self.folder, folder.native());
  copy_text(g_self.root, sizeof g_self.root,
            (folder / "../../..").lexically_normal().native());  // from driver/usr/lib64
  const std::string name = path.filename().native();
  if (!name.starts_with(kFilePrefix)) return;
  const std::string version = name.substr(std::strlen(kFilePrefix));
  if (version.find('.') != std::string::npos) copy_text(g_self.version, sizeof g_self.version, version);
}

// From the top: 4 bits kind, 6 GPU, 5 GPU instance, 4 compute instance, 8 epoch, 32 generation or serial, 0 to 4
// unused.
template <class T>
T encode(HandleKind kind, unsigned gpu, unsigned gi, unsigned ci, unsigned generation) {
  const std::uintptr_t bits = std::uintptr_t{static_cast<unsigned>(kind)} << 60 | std::uintptr_t{gpu} << 54 |
                              std::uintptr_t{gi} << 49 | std::uintptr_t{ci} << 45 | std::uintptr_t{g_self.epoch} << 37 |
                              std::uintptr_t{generation} << 5;
  return reinterpret_cast<T>(bits);
}

bool valid(const State& state, const Handle& handle, unsigned generation) {
  if (handle.kind == HandleKind::kSet)
    return handle.gpu < kMaxSets && state.sets[handle.gpu].used && state.sets[handle.gpu].serial == generation;
  if (handle.gpu >= state.gpu_count) return false;
  const Gpu& gpu = state.gpus[handle.gpu];
  if (handle.kind == HandleKind::kDevice) return gpu.present && gpu.generation == generation;
  if (!gpu.present || handle.gi >= kMaxInstances) return false;
  const Instance& instance = gpu.instances[handle.gi];
  if (handle.kind == HandleKind::kInstance) return instance.used && instance.serial == generation;
  if (handle.kind != HandleKind::kMig && handle.kind != HandleKind::kCompute) return false;
  if (handle.ci >= kMaxComputes) return false;
  return instance.computes[handle.ci].used && instance.computes[handle.ci].serial == generation;
}

Return hang(State& state, StateLock& lock, const Function& function) {
  const auto deadline = steady_clock::now() + kLongestHang;
  while (std::atomic_ref(const_cast<std::uint8_t&>(function.hangs)).load() != 0) {
    if (steady_clock::now() >= deadline) return nvml::kTimeout;
    lock.wait(deadline);
  }
  return state.loaded ? nvml::kSuccess : nvml::kDriverNotLoaded;
}

}  // namespace

Self& self() { return g_self; }

State* state() {
  static constinit std::mutex mutex;
  static constinit State* mapped = nullptr;
  const std::lock_guard lock(mutex);
  if (mapped == nullptr) mapped = map_state(g_self.folder);
  return mapped;
}

unsigned branch() { return branch_of(g_self.version[0] == '\0' ? state()->kernel_version : g_self.version); }

bool version_matches(const State& state) {
  return g_self.version[0] == '\0' || std::strcmp(g_self.version, state.kernel_version) == 0;
}

Return enter(State& state, StateLock& lock, Call call) {
  Function& function = state.functions[static_cast<unsigned>(call)];
  ++function.calls;
  if (function.hangs != 0) {
    if (const Return code = hang(state, lock, function); code != nvml::kSuccess) return code;
  }
  if (const unsigned delay = function.delay_ms; delay > 0) {
    lock.unlock();
    ::usleep(delay * 1000);
    lock.lock();
  }
  if (function.failures == 0) return nvml::kSuccess;
  if (function.failures > 0) --function.failures;
  return function.failure;
}

Return check_ready(const State& state) {
  if (self().inits == 0) return nvml::kUninitialized;
  if (!state.loaded) return nvml::kDriverNotLoaded;
  return version_matches(state) ? nvml::kSuccess : nvml::kLibRmVersionMismatch;
}

nvml::Device device_handle(const State& state, unsigned gpu) {
  return encode<nvml::Device>(HandleKind::kDevice, gpu, 0, 0, state.gpus[gpu].generation);
}

nvml::Device mig_handle(const State& state, unsigned gpu, unsigned gi, unsigned ci) {
  const unsigned serial = state.gpus[gpu].instances[gi].computes[ci].serial;
  return encode<nvml::Device>(HandleKind::kMig, gpu, gi, ci, serial);
}

nvml::GpuInstance instance_handle(const State& state, unsigned gpu, unsigned gi) {
  return encode<nvml::GpuInstance>(HandleKind::kInstance, gpu, gi, 0, state.gpus[gpu].instances[gi].serial);
}

nvml::ComputeInstance compute_handle(const State& state, unsigned gpu, unsigned gi, unsigned ci) {
  const unsigned serial = state.gpus[gpu].instances[gi].computes[ci].serial;
  return encode<nvml::ComputeInstance>(HandleKind::kCompute, gpu, gi, ci, serial);
}

nvml::EventSet set_handle(const State& state, unsigned set) {
  return encode<nvml::EventSet>(HandleKind::kSet, set, 0, 0, state.sets[set].serial);
}

Return attach(State& state, unsigned gpu, nvml::Device* device) {
  if (device == nullptr) return nvml::kInvalidArgument;
  if (const Return code = check_gpu(state.gpus[gpu]); code != nvml::kSuccess) return code;
  if (self().client != kNoSlot) state.clients[self().client].attached |= 1u << gpu;
  *device = device_handle(state, gpu);
  return nvml::kSuccess;
}

Handle decode(const State& state, const void* opaque) {
  const auto bits = reinterpret_cast<std::uintptr_t>(opaque);
  const auto part = [bits](unsigned shift, unsigned width) {
    return static_cast<unsigned>(bits >> shift & ((std::uintptr_t{1} << width) - 1));
  };
  const Handle handle{static_cast<HandleKind>(part(60, 4)), part(54, 6), part(49, 5), part(45, 4)};
  if (part(37, 8) != self().epoch || !valid(state, handle, part(5, 32))) return {HandleKind::kNone, 0, 0, 0};
  return handle;
}

Return check_gpu(const Gpu& gpu) {
  if (gpu.lost) return nvml::kGpuIsLost;
  return gpu.denied ? nvml::kNoPermission : nvml::kSuccess;
}

Return give_text(const std::string& text, char* to, unsigned size) {
  if (to == nullptr) return nvml::kInvalidArgument;
  if (size < text.size() + 1) return nvml::kInsufficientSize;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return nvml::kSuccess;
}

}  // namespace cardcage::fake_nvml
