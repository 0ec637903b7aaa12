#include "host/apiserver/restraint.h"

#include <algorithm>

#include "host/core/cancellation.h"
#include "host/core/waiting_place.h"

namespace cardcage {
namespace {

// The server keeps a request in its queues for up to 15 s.
constexpr std::chrono::seconds kFirstPause{1}, kLongestPause{16}, kOneAtATime{30};

}  // namespace

Restraint::Turn::~Turn() {
  if (!state_) return;
  --state_->turns;
  for (Wakeup& call : state_->waiting) call.wake();  // the first one that is not cancelled takes the turn
}

Restraint::Restraint(asio::io_context& core, Clock& clock, std::uint32_t seed)
    : core_(core), clock_(clock), pauses_(kFirstPause, kLongestPause, seed), state_(std::make_shared<State>()) {}

Duration Restraint::note_refusal(Duration least) {
  const Instant now = clock_.now();
  if (now >= end_) pauses_.reset();
  const Duration pause = std::max(least, pauses_.next());
  next_ = now + pause;
  end_ = next_ + kOneAtATime;
  return pause;
}

Instant Restraint::next_turn() const { return state_->turns > 0 ? end_ : next_; }

Task<std::optional<Restraint::Turn>> Restraint::take_turn(Instant deadline) {
  if (clock_.now() < next_turn()) {
    WaitingPlace place({state_, &state_->waiting}, core_);
    for (Instant next = next_turn(); clock_.now() < next; next = next_turn()) {
      co_await (*place).wait_until(clock_, std::min(deadline, next));
      if (is_cancelled(co_await asio::this_coro::cancellation_state) || clock_.now() >= deadline)
        co_return std::nullopt;
    }
  }
  co_return Turn(state_);
}

}  // namespace cardcage
