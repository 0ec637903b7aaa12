// Decides which of many similar messages get a line in the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/core/task.h"

namespace cardcage {

// Each text has one line in 10 s, and a key at most 8 texts. While a text is repeated, the pauses between its lines
// grow to 10 min: a node without its API server would log the same words for days.
class RepeatLimit {
 public:
  // The number of messages left out since the last line of `key`; nothing if this one is left out as well.
  std::optional<std::uint64_t> admit(std::string_view key, std::string_view text, Instant now);

 private:
  struct Text {
    std::size_t hash;
    Duration pause;
    Instant quiet_until;
    // A text that was absent for a whole pause is news again.
    bool is_forgotten(Instant now) const { return now >= quiet_until + pause; }
  };
  struct Entry {
    std::vector<Text> texts;
    std::uint64_t left_out = 0;
  };
  static bool may_log(Entry& entry, std::size_t text, Instant now);

  std::map<std::string, Entry, std::less<>> entries_;
  Instant next_sweep_ = Instant::min();
};

}  // namespace cardcage
