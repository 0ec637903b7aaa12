#include "host/serving/driver_front.h"

#include <utility>

namespace cardcage {

DriverServerOptions driver_server_options(const Config& config, const std::string& driver) {
  return {.driver = driver,
          .kubelet_root = config.node.kubelet_root,
          .instance = config.node.instance,
          .limits = {config.deadlines.prepare, config.deadlines.unprepare},
          .health = {}};
}

void HeldClaims::serve_by(ClaimService& claims) {
  claims_ = &claims;
  for (const auto& call : std::exchange(held_, {})) call.set(true);
}

Task<Status> HeldClaims::served(Instant deadline) {
  if (!claims_) {
    const auto call = held_.emplace_back(core_);
    std::ignore = co_await call.wait_until(clock_, deadline);
  }
  if (claims_) co_return Status{};
  co_return fail(Code::kDeadlineExceeded,
                 "the previous daemon of this node has not exited yet; the kubelet tries again");
}

Task<Result<std::vector<PreparedDevice>>> HeldClaims::prepare(ClaimRef claim, Instant deadline) {
  const Status ready = co_await served(deadline);
  if (!ready) co_return std::unexpected(ready.error());
  co_return co_await claims_->prepare(std::move(claim), deadline);
}

Task<Status> HeldClaims::unprepare(ClaimRef claim, Instant deadline) {
  const Status ready = co_await served(deadline);
  if (!ready) co_return ready;
  co_return co_await claims_->unprepare(std::move(claim), deadline);
}

}  // namespace cardcage
