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

  // Passes each complete line to `take`, and the excess of an overlong line as a line of its own. Empty lines are
  // dropped.
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
  // Passes on an unterminated line.
  void flush(const Take& take) {
    if (!line_.empty()) take(std::exchange(line_, {}));
  }

 private:
  static constexpr std::size_t kMaxLine = 2048;
  std::string line_;
};

}  // namespace cardcage
