// "did you mean": the candidate that a mistyped word most likely stands for.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cardcage {

// The candidate with the fewest edits (insert, delete, replace, swap of neighbours; case counts half) from `word`,
// the first of equals; nothing if none is close enough to be meant: at most one edit per three bytes, at least one.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

// " (did you mean 'x'?)", or nothing: to be put behind a message about an unknown word.
std::string nearest_hint(std::string_view word, std::span<const std::string> candidates);

}  // namespace cardcage
