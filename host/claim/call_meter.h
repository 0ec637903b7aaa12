// Counts the kubelet's calls that wait for a module, and how long it waited.
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

  // Awaits the answer of a call and counts it with the time that it took. `name` outlives the call.
  template <class T>
  Task<Result<T>> measured(KubeletCall call, const std::string& name, Clock& clock, Task<Result<T>> answering) {
    const Instant begun = clock.now();
    Result<T> answer = co_await std::move(answering);
    answered(call, name, answer ? Code::kOk : answer.error().code, clock.now() - begun);
    co_return answer;
  }
};

}  // namespace cardcage
