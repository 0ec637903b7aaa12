#include "host/core/repeat_limit.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace cardcage {
namespace {

constexpr Duration kShortest = std::chrono::seconds(10), kLongest = std::chrono::minutes(10);
constexpr std::size_t kMaxKeys = 1024, kMaxTexts = 8;

}  // namespace

bool RepeatLimit::may_log(Entry& entry, std::size_t text, Instant now) {
  std::erase_if(entry.texts, [&](const Text& each) { return each.is_forgotten(now); });
  if (const auto known = std::ranges::find(entry.texts, text, &Text::hash); known != entry.texts.end()) {
    if (now < known->quiet_until) return false;
    known->pause = std::min(2 * known->pause, kLongest);
    known->quiet_until = now + known->pause;
    return true;
  }
  const auto quiet = [&](const Text& each) { return now < each.quiet_until; };
  if (std::ranges::count_if(entry.texts, quiet) >= static_cast<std::ptrdiff_t>(kMaxTexts)) return false;
  if (entry.texts.size() == kMaxTexts) entry.texts.erase(std::ranges::find_if_not(entry.texts, quiet));
  entry.texts.push_back({text, kShortest, now + kShortest});
  return true;
}

std::optional<std::uint64_t> RepeatLimit::admit(std::string_view key, std::string_view text, Instant now) {
  // Not for each message: all of 10,000 devices may become unhealthy at once.
  if (entries_.size() > kMaxKeys && now >= next_sweep_) {
    next_sweep_ = now + kShortest;
    std::erase_if(entries_, [&](const auto& entry) {
      return std::ranges::all_of(entry.second.texts, [&](const Text& each) { return each.is_forgotten(now); });
    });
  }
  Entry& entry = entries_[std::string(key)];
  if (may_log(entry, std::hash<std::string_view>()(text), now)) return std::exchange(entry.left_out, 0);
  ++entry.left_out;
  return std::nullopt;
}

}  // namespace cardcage
