// Counts the kubelet's calls that wait for a module, and measures how long they take.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "host/core/clock.h"

namespace cardcage {

enum class KubeletCall : std::uint8_t { kPrepare, kUnprepare, kAllocate, kPreStart };

// [core]
class CallMeter {
 public:
  virtual ~CallMeter() = default;

  // `name` is the driver or resource.
  virtual void answered(KubeletCall call, const std::string& name, Code code, Duration took) = 0;

  // Awaits the result of a call and counts it. `name` outlives the call.
  template <class T>
  Task<Result<T>> measured(KubeletCall call, const std::string& name, Clock& clock, Task<Result<T>> call_task) {
    const Instant begun = clock.now();
    Result<T> result = co_await std::move(call_task);
    answered(call, name, result ? Code::kOk : result.error().code, clock.now() - begun);
    co_return result;
  }
};

}  // namespace cardcage
