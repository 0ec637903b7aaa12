#include "host/core/contact.h"

#include <algorithm>
#include <utility>

#include "host/core/cancellation.h"
#include "host/core/random_duration.h"
#include "host/core/waiting_place.h"

namespace cardcage {

void Contact::made() {
  away_ = false;
  if (!std::exchange(lost_, false)) return;
  ++recoveries_;
  for (Wakeup& retry : *waiting_) retry.wake();
}

Task<void> Contact::wait_to_retry(Clock& clock, Instant due, Duration spread) {
  {
    WaitingPlace retry(waiting_, core_);
    co_await (*retry).wait_until(clock, due);
  }
  if (is_cancelled(co_await asio::this_coro::cancellation_state) || clock.now() >= due) co_return;
  const Duration part = random_duration(Duration::zero(), spread, random_);
  co_await clock.sleep_until(std::min(due, clock.now() + part));
}

}  // namespace cardcage
