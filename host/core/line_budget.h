// Limits how many lines per second a module can write into the log, and reports how many were left out.
#pragma once

#include <cstdint>
#include <utility>

#include "host/core/task.h"

namespace cardcage {

class LineBudget {
 public:
  struct Verdict {
    bool write = true;           // this line
    std::uint64_t left_out = 0;  // lines of this flood left out so far, to be reported; 0 = none
  };
  // Reports the 1st, 10th, 100th, ... line that was left out, and all of them with the first line of another second: a
  // flood is reported while it lasts, although its end is unknown.
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
  std::uint64_t next_word_ = 1;  // the count of lines left out that is reported next
};

}  // namespace cardcage
