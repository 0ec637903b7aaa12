// Limits how many lines per second a module can write into the log.
#pragma once

#include <cstdint>
#include <optional>

#include "host/core/task.h"

namespace cardcage {

class LineBudget {
 public:
  // How many lines were left out before this one, or nothing if this one must be left out, too.
  std::optional<std::uint64_t> take(Instant now) {
    std::uint64_t left_out = 0;
    if (now - second_ >= std::chrono::seconds(1)) {
      if (lines_ > kLinesPerSecond) left_out = lines_ - kLinesPerSecond;
      second_ = now;
      lines_ = 0;
    }
    if (++lines_ > kLinesPerSecond) return std::nullopt;
    return left_out;
  }

 private:
  static constexpr std::uint64_t kLinesPerSecond = 100;
  Instant second_{};  // when the current second began
  std::uint64_t lines_ = 0;
};

}  // namespace cardcage
