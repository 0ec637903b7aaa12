// Bounds what a module can write into the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace cardcage {

class LineBudget {
 public:
  // How many lines were left out before this one; nothing if this one is to be left out, too.
  std::optional<std::uint64_t> take() {
    const auto now = std::chrono::steady_clock::now();
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
  std::chrono::steady_clock::time_point second_{};
  std::uint64_t lines_ = 0;
};

}  // namespace cardcage
