// The entry of every exported function: takes the lock, counts the call, applies the faults that a test has injected,
// and resolves the handle.
#pragma once

#include "sim/nvml/library/exports.h"
#include "sim/nvml/world.h"

namespace cardcage::fake_nvml {

using nvml::Return;

inline constexpr std::size_t kMaxPath = 1024;

// This process's use of the library. The State's lock guards it. Nothing is on the heap or has a destructor: threads
// may be inside a call when the process exits or the library is closed.
struct Self {
  char folder[kMaxPath], root[kMaxPath];
  char version[nvml::kVersionSize];  // from the file name; empty if that has none
  unsigned inits = 0;
  bool ever = false;
  std::uint8_t epoch = 0;  // in each handle, so that handles die with nvmlShutdown
  unsigned client = kNoSlot;
  int fd = -1;  // holds the client's lock
};
Self& self();
// Null until FakeGpus has filled the folder.
State* state();
// The driver branch of this library.
unsigned branch();

struct Target {
  Gpu& gpu;
  Instance* instance;  // the MIG device; null for a GPU
  Compute* compute;
  unsigned gi, ci;
};

// Whether the versions of this library and the kernel module match.
bool version_matches(const State& state);

// Counts the call and applies an injected fault; kSuccess to continue.
Return enter(State& state, StateLock& lock, Call call);
// kUninitialized before nvmlInit, or the kernel module's error.
Return check_ready(const State& state);

// Handles hold numbers, never addresses.
nvml::Device device_handle(const State& state, unsigned gpu);
nvml::Device mig_handle(const State& state, unsigned gpu, unsigned gi, unsigned ci);
nvml::GpuInstance instance_handle(const State& state, unsigned gpu, unsigned gi);
nvml::ComputeInstance compute_handle(const State& state, unsigned gpu, unsigned gi, unsigned ci);
nvml::EventSet set_handle(const State& state, unsigned set);
// Attaches the GPU and makes its handle.
Return attach(State& state, unsigned gpu, nvml::Device* device);

enum class HandleKind : unsigned { kNone, kDevice, kMig, kInstance, kCompute, kSet };
struct Handle {
  HandleKind kind;
  unsigned gpu, gi, ci;
};
// kNone for a stale handle.
Handle decode(const State& state, const void* handle);
Return check_gpu(const Gpu& gpu);

// Calls f(State&, StateLock&), for a function without a handle.
template <class F>
Return call(Call id, F f) {
  State* world = state();
  if (world == nullptr) return nvml::kDriverNotLoaded;
  StateLock lock(*world);
  if (const Return code = enter(*world, lock, id); code != nvml::kSuccess) return code;
  if (const Return code = check_ready(*world); code != nvml::kSuccess) return code;
  return f(*world, lock);
}

// Calls f(State&, Gpu&); not for MIG devices.
template <class F>
Return on_gpu(Call id, nvml::Device device, F f) {
  return call(id, [&](State& world, StateLock&) {
    const Handle handle = decode(world, device);
    if (handle.kind != HandleKind::kDevice && handle.kind != HandleKind::kMig) return nvml::kInvalidArgument;
    Gpu& gpu = world.gpus[handle.gpu];
    if (const Return code = check_gpu(gpu); code != nvml::kSuccess) return code;
    if (handle.kind == HandleKind::kMig) return nvml::kNotSupported;
    return f(world, gpu);
  });
}

// Calls f(State&, Target), for GPUs and MIG devices.
template <class F>
Return on_device(Call id, nvml::Device device, F f) {
  return call(id, [&](State& world, StateLock&) {
    const Handle handle = decode(world, device);
    if (handle.kind != HandleKind::kDevice && handle.kind != HandleKind::kMig) return nvml::kInvalidArgument;
    Gpu& gpu = world.gpus[handle.gpu];
    if (const Return code = check_gpu(gpu); code != nvml::kSuccess) return code;
    if (handle.kind == HandleKind::kDevice) return f(world, Target{gpu, nullptr, nullptr, 0, 0});
    Instance& instance = gpu.instances[handle.gi];
    return f(world, Target{gpu, &instance, &instance.computes[handle.ci], handle.gi, handle.ci});
  });
}

// Calls f(State&, Target), for handles of GPU instances and of compute instances.
template <class F>
Return on_instance(Call id, HandleKind kind, const void* opaque, F f) {
  return call(id, [&](State& world, StateLock&) {
    const Handle handle = decode(world, opaque);
    if (handle.kind != kind) return nvml::kInvalidArgument;
    Gpu& gpu = world.gpus[handle.gpu];
    if (const Return code = check_gpu(gpu); code != nvml::kSuccess) return code;
    Instance& instance = gpu.instances[handle.gi];
    Compute* compute = kind == HandleKind::kCompute ? &instance.computes[handle.ci] : nullptr;
    return f(world, Target{gpu, &instance, compute, handle.gi, handle.ci});
  });
}

// Stores a value; kInvalidArgument if the caller passes null.
template <class T, class V>
Return give(T* to, const V& value) {
  if (to == nullptr) return nvml::kInvalidArgument;
  *to = static_cast<T>(value);
  return nvml::kSuccess;
}
Return give_text(const std::string& text, char* to, unsigned size);

}  // namespace cardcage::fake_nvml
