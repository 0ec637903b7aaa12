// Decides which of many messages that are alike get a line in the log.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "host/core/task.h"

namespace cardcage {

// One line per key in 10 s. While the text stays the same, the pauses between its lines grow to 10 min: a node without
// its API server would log the same words for days.
class RepeatLimit {
 public:
  // How many messages were left out since the last line of `key`; nothing if this one is left out as well.
  std::optional<std::uint64_t> admit(std::string_view key, std::string_view text, Instant now);

 private:
  struct Entry {
    std::string text;
    Instant quiet_until{};
    Duration pause{};
    std::uint64_t left_out = 0;
  };
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace cardcage
