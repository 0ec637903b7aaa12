#include "host/core/repeat_limit.h"

#include <algorithm>
#include <utility>

namespace cardcage {
namespace {

constexpr Duration kShortest = std::chrono::seconds(10), kLongest = std::chrono::minutes(10);
constexpr std::size_t kMaxKeys = 1024;

}  // namespace

std::optional<std::uint64_t> RepeatLimit::admit(std::string_view key, std::string_view text, Instant now) {
  if (entries_.size() > kMaxKeys)
    std::erase_if(entries_, [&](const auto& each) { return each.second.quiet_until < now; });
  Entry& entry = entries_[std::string(key)];
  if (now < entry.quiet_until) {
    ++entry.left_out;
    return std::nullopt;
  }
  // A text that has not come for a whole pause is news again.
  const bool repeated = entry.text == text && now < entry.quiet_until + entry.pause;
  entry.pause = repeated ? std::min(2 * entry.pause, kLongest) : kShortest;
  entry.quiet_until = now + entry.pause;
  entry.text = text;
  return std::exchange(entry.left_out, 0);
}

}  // namespace cardcage
