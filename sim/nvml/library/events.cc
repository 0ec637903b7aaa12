// Event sets: one queue each. Events from before the registration are not in it.
#include <algorithm>
#include <chrono>

#include "sim/nvml/library/entry.h"

using namespace cardcage::fake_nvml;

namespace {

using std::chrono::steady_clock;

unsigned long long supported_events(const Gpu& gpu) {
  constexpr unsigned long long kSince560 = nvml::kEventSingleBitEccStorm | nvml::kEventDramRetirement |
                                           nvml::kEventDramRetirementFailure | nvml::kEventNonFatalPoison |
                                           nvml::kEventFatalPoison;
  constexpr unsigned long long kSince565 = nvml::kEventGpuUnavailable | nvml::kEventRecoveryAction;
  unsigned long long types = gpu.supported_events;
  if (branch() < 560) types &= ~kSince560;
  if (branch() < 565) types &= ~kSince565;
  return types;
}

bool has_lost_gpu(const State& state, const EventQueue& set) {
  for (unsigned i = 0; i < state.gpu_count; ++i) {
    if (set.registered[i] != 0 && state.gpus[i].lost) return true;
  }
  return false;
}

Return pop(const State& state, EventQueue& set, nvml::EventData& to) {
  const Event event = set.events[set.first];
  set.first = (set.first + 1) % kMaxEvents;
  --set.count;
  to = {device_handle(state, event.gpu), event.type, event.data, event.gi, event.ci};
  return nvml::kSuccess;
}

}  // namespace

Return nvmlEventSetCreate(nvml::EventSet* set) {
  return call(Call::nvmlEventSetCreate, [&](State& state, StateLock&) {
    if (set == nullptr) return nvml::kInvalidArgument;
    EventQueue* free = std::ranges::find(state.sets, false, &EventQueue::used);
    if (free == std::end(state.sets)) return nvml::kMemory;
    std::fill(std::begin(free->registered), std::end(free->registered), 0);
    free->used = true;
    free->serial = state.next_serial++;
    free->client = self().client;
    free->first = free->count = 0;
    *set = set_handle(state, static_cast<unsigned>(free - state.sets));
    return nvml::kSuccess;
  });
}

Return nvmlEventSetFree(nvml::EventSet set) {
  return call(Call::nvmlEventSetFree, [&](State& state, StateLock&) {
    const Handle handle = decode(state, set);
    if (handle.kind != HandleKind::kSet) return nvml::kInvalidArgument;
    state.sets[handle.gpu].used = false;
    announce(state);
    return nvml::kSuccess;
  });
}

Return nvmlEventSetWait_v2(nvml::EventSet set, nvml::EventData* data, unsigned timeout_ms) {
  const auto deadline = steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  return call(Call::nvmlEventSetWait_v2, [&](State& state, StateLock& lock) {
    if (data == nullptr) return nvml::kInvalidArgument;
    for (;;) {
      const Handle handle = decode(state, set);
      if (handle.kind != HandleKind::kSet) return nvml::kInvalidArgument;
      EventQueue& queue = state.sets[handle.gpu];
      if (queue.count > 0) return pop(state, queue, *data);
      if (has_lost_gpu(state, queue)) return nvml::kGpuIsLost;
      if (!lock.wait(deadline)) return nvml::kTimeout;  // after a signal, too
      if (const Return code = check_ready(state); code != nvml::kSuccess) return code;
    }
  });
}

Return nvmlDeviceGetSupportedEventTypes(nvml::Device device, unsigned long long* types) {
  return on_gpu(Call::nvmlDeviceGetSupportedEventTypes, device,
                [&](State&, Gpu& gpu) { return give(types, supported_events(gpu)); });
}

Return nvmlDeviceRegisterEvents(nvml::Device device, unsigned long long types, nvml::EventSet set) {
  return on_gpu(Call::nvmlDeviceRegisterEvents, device, [&](State& state, Gpu& gpu) {
    const Handle handle = decode(state, set);
    if (handle.kind != HandleKind::kSet) return nvml::kInvalidArgument;
    if ((types & ~supported_events(gpu)) != 0) return nvml::kNotSupported;
    state.sets[handle.gpu].registered[index_of(state, gpu)] |= types;
    return nvml::kSuccess;
  });
}
