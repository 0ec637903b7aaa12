#include "host/apiserver/labelled_claims.h"

#include <algorithm>
#include <random>

#include "host/core/cancellation.h"
#include "host/core/log.h"
#include "host/core/random_duration.h"

namespace cardcage {
namespace {

// cardcage-fleet renews the Lease four times meanwhile. The scheduler gives a claim up after ten minutes, by which time
// a daemon has noticed that the fleet is away.
constexpr std::chrono::seconds kLeaseInterval{120};
// A failed read proves nothing, and to follow all claims would cost a server in trouble most. So it is only one doubt,
// or none while the server is away or overloaded.
constexpr int kMaxDoubts = 3;
// Spreads the checks of nodes that started together.
constexpr std::chrono::seconds kSpread{10};

}  // namespace

LabelledClaims::LabelledClaims(asio::io_context& core, Clock& clock, Read read)
    : clock_(clock), read_(std::move(read)), lease_(core, clock, "get the Lease of cardcage-fleet", kLeaseInterval) {}

Task<bool> LabelledClaims::complete() {
  SharedCall<bool>::Call call = [this] { return read_lease(); };
  const auto known = co_await lease_.get(std::move(call));
  co_return known.value_or(false);
}

Task<void> LabelledClaims::wait_for_change(bool was) {
  std::minstd_rand random{std::random_device{}()};
  while (true) {
    co_await clock_.sleep_for(kLeaseInterval + random_duration(Duration::zero(), kSpread, random));
    const bool over = co_await cancelled();
    if (over) co_return;
    const bool now = co_await complete();
    if (now != was) co_return;
  }
}

Task<Result<bool>> LabelledClaims::read_lease() {
  const auto renewed = co_await read_();
  if (!renewed && renewed.error().code == Code::kCancelled) co_return std::unexpected(renewed.error());
  if (!renewed)
    log_limited(LogLevel::kWarn, "labelled-claims", "cannot tell whether cardcage-fleet labels claims",
                {{"error", renewed.error().message}});
  const bool missed = std::exchange(missed_, !renewed);
  if (renewed) {
    const std::string before = std::exchange(renewed_, *renewed);
    // After an outage the fleet renews the Lease only once it follows claims again.
    const int doubts = missed ? 1 : kMaxDoubts;
    doubts_ = renewed_ == before ? std::min(doubts_ + doubts, kMaxDoubts) : 0;
  } else if (renewed.error().code == Code::kNotFound) {
    renewed_.clear();
  } else if (renewed.error().code != Code::kUnavailable && renewed.error().code != Code::kResourceExhausted) {
    doubts_ = std::min(doubts_ + 1, kMaxDoubts);
  }
  complete_ = !renewed_.empty() && doubts_ < kMaxDoubts;
  co_return complete_;
}

}  // namespace cardcage
