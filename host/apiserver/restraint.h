// Keeps the calls of one node from adding to an overload of the API server.
//
// A server that has too many requests in its queues refuses more with 429. If thousands of nodes start at once and each
// sends all that it has to send, most requests are refused again and again, which costs the server a third of its time.
// One request of each node fits into the queues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "host/core/backoff.h"
#include "host/core/clock.h"
#include "host/core/wakeup.h"

namespace cardcage {

// [core] Turns may outlive it.
class Restraint {
  struct State {
    std::size_t turns = 0;
    std::list<Wakeup> waiting;
  };

 public:
  // A call may be made until this object ends.
  class Turn {
   public:
    explicit Turn(std::shared_ptr<State> state) : state_(std::move(state)) { ++state_->turns; }
    Turn(Turn&&) = default;
    Turn& operator=(Turn&& other) noexcept {
      std::swap(state_, other.state_);
      return *this;
    }
    ~Turn();

   private:
    std::shared_ptr<State> state_;
  };

  Restraint(asio::io_context& core, Clock& clock, std::uint32_t seed);

  // The server refused a call because of its load. Returns the pause before the next turn, which grows with each
  // refusal and is at least `least`. For a while after it there is one turn at a time.
  Duration note_refusal(Duration least);
  // Returns nothing if the deadline passes first, or the surrounding coroutine is cancelled.
  Task<std::optional<Turn>> take_turn(Instant deadline);

 private:
  // Returns when the next turn can begin, if none of those under way ends before; the past if it can begin now.
  Instant next_turn() const;

  asio::io_context& core_;
  Clock& clock_;
  Backoff pauses_;
  Instant next_ = Instant::min(), end_ = Instant::min();
  const std::shared_ptr<State> state_;
};

}  // namespace cardcage
