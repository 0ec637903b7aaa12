#include "host/core/clock.h"

namespace cardcage {

Task<void> Clock::sleep_until(Instant wake) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  co_await wait(timer, wake);
}

Task<void> SystemClock::wait(asio::steady_timer& timer, Instant wake) {
  timer.expires_at(wake);
  boost::system::error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

}  // namespace cardcage
