// Limits how many lines per second a module can write into the log, and tells how many were left out.
#pragma once

#include <cstdint>
#include <utility>

#include "host/core/task.h"

namespace cardcage {

class LineBudget {
 public:
  struct Verdict {
    bool write = true;           // this line
    std::uint64_t left_out = 0;  // so many lines of this flood were left out until now; 0 = nothing to say
  };
  // Tells of 1, 10, 100, ... lines that were left out, and of all of them with the first line of another second: a
  // flood is told of while it lasts, although nobody knows when it ends.
  Verdict take(Instant now) {
    std::uint64_t before = 0;
    if (now - second_ >= std::chrono::seconds(1)) {
      before = std::exchange(left_out_, 0);
      second_ = now;
      lines_ = 0;
      next_word_ = 1;
    }
    if (++lines_ <= kLinesPerSecond) return {true, before};
    if (++left_out_ < next_word_) return {false, 0};
    next_word_ *= 10;
    return {false, left_out_};
  }

 private:
  static constexpr std::uint64_t kLinesPerSecond = 100;
  Instant second_{};  // when the current second began
  std::uint64_t lines_ = 0, left_out_ = 0;
  std::uint64_t next_word_ = 1;  // how many lines must be left out before that is told again
};

}  // namespace cardcage
