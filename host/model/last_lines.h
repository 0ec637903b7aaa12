// What a module said last, for whoever looks into why it went wrong.
#pragma once

#include <chrono>
#include <deque>
#include <string>
#include <vector>

namespace cardcage {

struct SaidLine {
  std::chrono::system_clock::time_point time;
  std::string text;
};

// How an instance was lost, or did not start.
struct ModuleEnd {
  std::chrono::system_clock::time_point time;
  std::string how;
  std::vector<SaidLine> lines;  // that it said last
};

class LastLines {
 public:
  // `text` is printable.
  void add(std::string text) {
    lines_.push_back({std::chrono::system_clock::now(), std::move(text)});
    if (lines_.size() > kLines) lines_.pop_front();
  }
  std::vector<SaidLine> all() const { return {lines_.begin(), lines_.end()}; }

 private:
  static constexpr std::size_t kLines = 50;
  std::deque<SaidLine> lines_;
};

}  // namespace cardcage
