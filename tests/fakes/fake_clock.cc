#include "tests/fakes/fake_clock.h"

namespace cardcage {

Task<void> FakeClock::sleep_until(Instant wake) {
  if (wake <= now_) co_return;
  auto timer = std::make_shared<asio::steady_timer>(co_await asio::this_coro::executor, Instant::max());
  const auto entry = sleepers_.emplace(wake, timer);
  boost::system::error_code ignored;
  co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  sleepers_.erase(entry);
}

void FakeClock::advance(Duration duration) {
  now_ += duration;
  wall_ += std::chrono::duration_cast<std::chrono::system_clock::duration>(duration);
  for (auto entry = sleepers_.begin(); entry != sleepers_.end() && entry->first <= now_; ++entry)
    entry->second->cancel();
}

}  // namespace cardcage
