// The last lines of a module's output, for people who diagnose a failure.
#pragma once

#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include "host/core/clock.h"

namespace cardcage {

// A line that a module logged or printed.
struct SaidLine {
  std::chrono::system_clock::time_point time;
  std::string text;
};

// How an instance ended, or why its start failed.
struct ModuleEnd {
  std::chrono::system_clock::time_point time;
  std::string how;
  std::vector<SaidLine> lines;  // its last output
};

class LastLines {
 public:
  // `text` is printable. The time comes from the system clock: module threads call this, and an injected clock belongs
  // to the core.
  void add(std::string text) {
    lines_.push_back({SystemClock().wall(), std::move(text)});
    if (lines_.size() > kMaxLines) lines_.pop_front();
  }
  std::vector<SaidLine> all() const { return {lines_.begin(), lines_.end()}; }

 private:
  static constexpr std::size_t kMaxLines = 50;
  std::deque<SaidLine> lines_;
};

}  // namespace cardcage
