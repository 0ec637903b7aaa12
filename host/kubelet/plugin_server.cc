#include "host/kubelet/plugin_server.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace cardcage {
namespace {

using std::chrono::milliseconds;

// Open calls fail this long before the deadline of a stop, so that the kubelet still receives the reason.
constexpr milliseconds kCloseReserve{500}, kMinGrace{100};

}  // namespace

PluginServer::PluginServer(asio::io_context& core, Clock& clock, ServedName name, api::registration::PluginInfo info)
    : core_(core),
      clock_(clock),
      name_(std::move(name)),
      wake_(core),
      folders_(core, [this] { wake(); }),
      registration_(core, clock, std::move(info), [this] { registration_changed(); }),
      loops_(core) {}

PluginServer::~PluginServer() {
  if (phase_ == Phase::kCreated || phase_ == Phase::kStopped) return;
  fmt::print(stderr, "cardcage: the server of {} '{}' was destroyed before it was stopped\n", name_.kind(), name_.name);
  std::abort();
}

void PluginServer::start() {
  phase_ = Phase::kServing;
  loops_.spawn(maintain_until_stopped());
  loops_.spawn(run_streams());
}

Task<void> PluginServer::maintain_until_stopped() {
  while (phase_ == Phase::kServing) {
    const Instant next = maintain();
    co_await wake_.wait_until(clock_, next);
  }
}

Task<void> PluginServer::stop(Instant deadline) {
  phase_ = Phase::kStopping;
  wake();
  co_await withdraw();
  const Duration budget = std::max(deadline - clock_.now(), Duration::zero());
  co_await drain(deadline - std::min<Duration>(kCloseReserve, budget / 2));
  co_await grpc().stop(core_, std::max<Duration>(deadline - clock_.now(), kMinGrace));
  co_await loops_.join(clock_, Instant::max());
  phase_ = Phase::kStopped;
}

}  // namespace cardcage
