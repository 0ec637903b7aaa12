// Slows down the corrections of slices that another client keeps changing.
#pragma once

#include <cstdint>

#include "host/core/backoff.h"
#include "host/core/clock.h"

namespace cardcage {

// Pure: no clock. Some corrections in a row are free (after a kubelet started, or an operator edited slices). Pauses
// between further ones grow until no slice has been changed by others for kDisputeEnd.
class CorrectionPace {
 public:
  static constexpr int kFree = 20;
  static constexpr Duration kDisputeEnd = std::chrono::minutes(5);

  explicit CorrectionPace(std::uint32_t seed) : pauses_(std::chrono::seconds(1), std::chrono::seconds(60), seed) {}

  // Returns the time before which no correction is due.
  Instant next() const { return next_; }
  void note_correction(Instant now) {
    if (now - kDisputeEnd > last_) {
      in_a_row_ = 0;
      pauses_.reset();
    }
    last_ = now;
    if (++in_a_row_ > kFree) next_ = now + pauses_.next();
  }

 private:
  int in_a_row_ = 0;
  Instant last_ = Instant::min(), next_ = Instant::min();
  Backoff pauses_;
};

}  // namespace cardcage
