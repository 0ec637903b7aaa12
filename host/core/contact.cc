#include "host/core/contact.h"

#include <algorithm>
#include <boost/asio/cancellation_state.hpp>
#include <utility>

#include "host/core/waiting_place.h"

namespace cardcage {

void Contact::made() {
  if (!std::exchange(lost_, false)) return;
  ++returns_;
  for (Wakeup& retry : *waiting_) retry.wake();
}

Task<void> Contact::wait_to_retry(Clock& clock, Instant due, Duration spread) {
  {
    WaitingPlace retry(waiting_, core_);
    co_await (*retry).wait_until(clock, due);
  }
  const auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none || clock.now() >= due) co_return;
  const Duration part(std::uniform_int_distribution<Duration::rep>(0, spread.count())(random_));
  co_await clock.sleep_until(std::min(due, clock.now() + part));
}

}  // namespace cardcage
