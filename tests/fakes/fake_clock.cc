#include "tests/fakes/fake_clock.h"

#include <optional>

namespace cardcage {

Task<void> FakeClock::wait(asio::steady_timer& timer, Instant wake) {
  if (wake <= now_) co_return;
  timer.expires_at(Instant::max());
  struct Sleeper {
    std::shared_ptr<Sleepers> all;
    Sleepers::iterator entry;
    ~Sleeper() { all->erase(entry); }
  };
  std::optional<Sleeper> sleeper;
  if (wake != Instant::max()) sleeper.emplace(sleepers_, sleepers_->emplace(wake, &timer));
  boost::system::error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

void FakeClock::advance(Duration duration) {
  now_ += duration;
  wall_ += std::chrono::duration_cast<std::chrono::system_clock::duration>(duration);
  for (auto entry = sleepers_->begin(); entry != sleepers_->end() && entry->first <= now_; ++entry)
    entry->second->cancel();
}

}  // namespace cardcage
