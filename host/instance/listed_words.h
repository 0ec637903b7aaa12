// The words that a declaration lists: choices, kinds of devices, names of labels.
#pragma once

#include "host/core/log.h"
#include "host/sinks/borrowed.h"

namespace cardcage {

// Like items_of. A list without a count is a mistake, and the declaration means something else without it.
inline Result<std::span<const cage_str>> listed_words(const cage_str* words, std::uint32_t count, std::size_t max,
                                                      const char* what, const std::string& owner) {
  if (words != nullptr && count == 0)
    log_limited(LogLevel::kWarn, fmt::format("count/{}/{}", what, owner),
                fmt::format("'{}' has {} and a count of 0, so the host sees none of them", owner, what),
                {{"rule", "R2"}});
  return items_of(words, count, max, what);
}

}  // namespace cardcage
