// Finds the word that a user most likely meant by a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cardcage::fpga {

// Returns the first of the words with the fewest edits from `word`; empty if every one needs more than one edit per
// three characters. All words are short: names of keys and of bitstreams.
std::string nearest(std::string_view word, std::span<const std::string> words);

// Returns " (did you mean 'x'?)", or nothing.
std::string nearest_hint(std::string_view word, std::span<const std::string> words);

}  // namespace cardcage::fpga
