#include "host/rpc/unary_call.h"

#include <grpc/support/time.h>

#include <algorithm>

namespace cardcage {

Error shutting_down() { return {Code::kUnavailable, "cardcage is shutting down"}; }

grpc::ServerUnaryReactor* finish_at_once(grpc::CallbackServerContext& context, const grpc::Status& status) {
  grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

Duration time_to_respond(const grpc::CallbackServerContext& context, Duration limit) {
  // Compares in gRPC's own clock and type, which have a value for "infinite". The host's would overflow.
  const gpr_timespec deadline = gpr_convert_clock_type(context.raw_deadline(), GPR_CLOCK_REALTIME);
  const Duration left =
      std::chrono::milliseconds(gpr_time_to_millis(gpr_time_sub(deadline, gpr_now(GPR_CLOCK_REALTIME))));
  const Duration margin = std::min<Duration>(left / 10, std::chrono::milliseconds(500));
  return std::clamp<Duration>(left - margin, Duration::zero(), limit);
}

void UnaryCalls::remove(const std::shared_ptr<OpenCall>& call) {
  calls_.erase(call);
  if (calls_.empty()) idle_.wake();
}

Task<void> UnaryCalls::drain(Clock& clock, Instant deadline) {
  draining_ = true;
  while (!calls_.empty() && clock.now() < deadline) co_await idle_.wait_until(clock, deadline);
  for (const auto& call : std::exchange(calls_, {})) call->abort(shutting_down());
}

}  // namespace cardcage
