#include "host/rpc/unary_call.h"

#include <algorithm>

namespace cardcage {

Error going_away() { return {Code::kUnavailable, "cardcage is shutting down"}; }

grpc::ServerUnaryReactor* at_once(grpc::CallbackServerContext& context, const grpc::Status& status) {
  grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

Duration time_to_answer(const grpc::CallbackServerContext& context, Duration limit) {
  const Duration left = context.deadline() - std::chrono::system_clock::now();
  const Duration margin = std::min<Duration>(left / 10, std::chrono::milliseconds(500));
  return std::clamp<Duration>(left - margin, Duration::zero(), limit);
}

void OpenCall::abort(Error reason) {
  if (!aborted_) aborted_ = std::move(reason);
  wake_.wake();
}

Error OpenCall::why_over() const {
  if (aborted_) return *aborted_;
  return {Code::kDeadlineExceeded,
          fmt::format("no answer within {} s: the module may hang, see the log of cardcage on this node",
                      std::chrono::duration<double>(limit_).count())};
}

}  // namespace cardcage
