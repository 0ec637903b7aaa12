// Whether a peer responds. Retries that wait learn at once that it does so again after an outage, so that none of them
// sleeps out a pause that has grown long meanwhile.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <random>

#include "host/core/clock.h"
#include "host/core/wakeup.h"

namespace cardcage {

// [core] The owner of the calls reports how they end.
class Contact {
 public:
  Contact(asio::io_context& core, std::uint32_t seed)
      : core_(core), waiting_(std::make_shared<std::list<Wakeup>>()), random_(seed) {}

  // A call did not reach the peer.
  void lost() { lost_ = true; }
  // A call succeeded. Wakes the retries that wait, if the contact was lost.
  void made();
  bool is_lost() const { return lost_; }
  // Returns how often the contact was made again. A retry that was under way at that time compares the numbers.
  std::uint64_t returns() const { return returns_; }
  // Returns at `due`, or, if the contact is made again before, after a random part of `spread`, if that is earlier.
  // Returns early when the surrounding coroutine is cancelled.
  Task<void> wait_to_retry(Clock& clock, Instant due, Duration spread);

 private:
  asio::io_context& core_;
  bool lost_ = false;
  std::uint64_t returns_ = 0;
  // Shared with waiting coroutines: those that never resume are destroyed with their core, after this.
  const std::shared_ptr<std::list<Wakeup>> waiting_;
  std::minstd_rand random_;
};

}  // namespace cardcage
