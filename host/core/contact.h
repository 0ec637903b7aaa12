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
  void lost() { lost_ = away_ = true; }
  // A call reached the peer, and failed there.
  void heard() { away_ = false; }
  // A call succeeded. Wakes the retries that wait, if the contact was lost.
  void made();
  // Returns true after a call that did not reach the peer, until one does.
  bool is_away() const { return away_; }
  // Returns the number of outages that have ended. A retry compares it before and after an attempt to notice such an
  // end.
  std::uint64_t recoveries() const { return recoveries_; }
  // Returns at `due`. If the contact is made again first, returns after a random part of `spread`, but not later than
  // `due`. Returns early when the surrounding coroutine is cancelled.
  Task<void> wait_to_retry(Clock& clock, Instant due, Duration spread);

 private:
  asio::io_context& core_;
  bool lost_ = false;  // no call has succeeded since one was lost
  bool away_ = false;
  std::uint64_t recoveries_ = 0;
  // Shared with waiting coroutines: those that never resume are destroyed with their core, after this.
  const std::shared_ptr<std::list<Wakeup>> waiting_;
  std::minstd_rand random_;
};

}  // namespace cardcage
