// What Prometheus reads of the daemon: https://prometheus.io/docs/instrumenting/exposition_formats.
#pragma once

#include <prometheus/registry.h>

#include <string>
#include <utility>

#include "host/admin/daemon_view.h"
#include "host/core/clock.h"

namespace cardcage {

// The kubelet's calls that wait for a module.
enum class KubeletCall : std::uint8_t { kPrepare, kUnprepare, kAllocate, kPreStart };

// [core] Counts what has happened; all else is read from the daemon when somebody asks, so that no figure can be stale
// and no gauge outlives its device.
class Metrics {
 public:
  Metrics();

  // `name` is the driver or resource.
  void answered(KubeletCall call, const std::string& name, Code code, Duration took);
  // Awaits the answer of a call and counts it with the time that it took. `name` outlives the call.
  template <class T>
  Task<Result<T>> measured(KubeletCall call, const std::string& name, Clock& clock, Task<Result<T>> answering) {
    const Instant begun = clock.now();
    Result<T> answer = co_await std::move(answering);
    answered(call, name, answer ? Code::kOk : answer.error().code, clock.now() - begun);
    co_return answer;
  }
  // In the text format 0.0.4.
  std::string page(const DaemonView& daemon) const;

 private:
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Histogram>& calls_;
};

}  // namespace cardcage
