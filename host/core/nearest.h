// "did you mean": finds the word that was most likely meant by a mistyped one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cardcage {

// The candidate with the fewest edits from `word`, the first of equally close ones. An edit inserts, deletes or
// replaces a byte or swaps two neighbours; a change of case counts half. Returns nothing if every candidate needs more
// than one edit per three bytes of `word` (one edit is always allowed).
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

// " (did you mean 'x'?)", to be appended to a message about an unknown word; empty if no candidate is close.
std::string nearest_hint(std::string_view word, std::span<const std::string> candidates);

}  // namespace cardcage
