// Splits printed text into lines.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace cardcage {

class LineSplitter {
 public:
  using Take = std::function<void(const std::string& line)>;

  // Passes each line that is complete to `take`, and what exceeds the longest line as a line of its own. Empty lines
  // are left out.
  void add(std::string_view text, const Take& take) {
    for (const char byte : text) {
      if (byte != '\n' && line_.size() < kMaxLine) {
        line_ += byte;
        continue;
      }
      flush(take);
      if (byte != '\n') line_ += byte;
    }
  }
  // Passes on a line without an end.
  void flush(const Take& take) {
    if (!line_.empty()) take(std::exchange(line_, {}));
  }

 private:
  static constexpr std::size_t kMaxLine = 2048;
  std::string line_;
};

}  // namespace cardcage
