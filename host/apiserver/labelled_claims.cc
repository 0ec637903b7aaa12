#include "host/apiserver/labelled_claims.h"

#include <random>

#include "host/core/cancellation.h"
#include "host/core/log.h"

namespace cardcage {
namespace {

// cardcage-fleet renews the Lease four times meanwhile. The scheduler gives a claim up after ten minutes, by which time
// a daemon has noticed that the fleet is away.
constexpr std::chrono::seconds kLook{120};
// Nodes that started together look apart.
constexpr std::chrono::milliseconds kSpread{10'000};

}  // namespace

LabelledClaims::LabelledClaims(asio::io_context& core, Clock& clock, Read read)
    : clock_(clock), read_(std::move(read)), looks_(core, clock, "get the Lease of cardcage-fleet", kLook) {}

Task<bool> LabelledClaims::complete() {
  SharedCall<bool>::Call call = [this] { return look(); };
  const auto known = co_await looks_.get(std::move(call));
  co_return known.value_or(false);
}

Task<void> LabelledClaims::wait_for_change(bool was) {
  std::minstd_rand random{std::random_device{}()};
  while (true) {
    const std::chrono::milliseconds more(std::uniform_int_distribution<int>(0, kSpread.count())(random));
    co_await clock_.sleep_for(kLook + more);
    const bool over = co_await cancelled();
    if (over) co_return;
    const bool now = co_await complete();
    if (now != was) co_return;
  }
}

Task<Result<bool>> LabelledClaims::look() {
  const auto renewed = co_await read_();
  if (!renewed && renewed.error().code == Code::kCancelled) co_return std::unexpected(renewed.error());
  if (!renewed)
    log_limited(LogLevel::kWarn, "labelled-claims", "cannot tell whether cardcage-fleet labels claims",
                {{"error", renewed.error().message}});
  // While the API server is away, no claim is labelled, and none can be followed otherwise either.
  if (!renewed && renewed.error().code == Code::kUnavailable) co_return complete_;
  const std::string before = std::exchange(renewed_, renewed.value_or(""));
  complete_ = !renewed_.empty() && renewed_ != before;
  co_return complete_;
}

}  // namespace cardcage
