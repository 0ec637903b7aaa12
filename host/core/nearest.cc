#include "host/core/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "host/core/ascii.h"

namespace cardcage {
namespace {

// A longer word is not a typing mistake. The limit also bounds the work for hostile input.
constexpr std::size_t kLongestWord = 64;

unsigned replace_cost(char a, char b) { return a == b ? 0 : to_lower(a) == to_lower(b) ? 1 : 2; }

// Optimal string alignment distance in half edits.
unsigned distance(std::string_view a, std::string_view b) {
  std::vector<unsigned> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<unsigned>(2 * j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<unsigned>(2 * i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 2, row[j - 1] + 2, last[j - 1] + replace_cost(a[i - 1], b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 2);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > kLongestWord) return std::nullopt;
  const auto allowed = static_cast<unsigned>(2 * std::max<std::size_t>(1, word.size() / 3));
  const std::string* best = nullptr;
  unsigned fewest = allowed + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestWord) continue;
    if (const unsigned edits = distance(word, candidate); edits < fewest) {
      fewest = edits;
      best = &candidate;
    }
  }
  if (!best) return std::nullopt;
  return *best;
}

std::string nearest_hint(std::string_view word, std::span<const std::string> candidates) {
  const auto meant = nearest(word, candidates);
  return meant ? fmt::format(" (did you mean '{}'?)", *meant) : std::string();
}

}  // namespace cardcage
