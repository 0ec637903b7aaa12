#include "modules/fpga/bitstream/nearest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace cardcage::fpga {
namespace {

constexpr std::size_t kLongestWord = 63;

// Counts the characters to insert, delete, replace, or swap with a neighbour.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> words) {
  if (word.size() > kLongestWord) return {};
  std::string best;
  std::size_t fewest = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : words) {
    if (candidate.size() > kLongestWord) continue;
    if (const std::size_t edits = distance(word, candidate); edits < fewest) {
      fewest = edits;
      best = candidate;
    }
  }
  return best;
}

std::string nearest_hint(std::string_view word, std::span<const std::string> words) {
  const std::string meant = nearest(word, words);
  return meant.empty() ? std::string() : " (did you mean '" + meant + "'?)";
}

}  // namespace cardcage::fpga
