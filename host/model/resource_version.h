// Resource versions of Kubernetes objects. They are compared as numbers, which Kubernetes guarantees since 1.35; it was
// true before.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>

#include "host/core/ascii.h"

namespace cardcage {

// Returns true if `version` is `known` or older; false if one of them is not a number.
inline bool is_known(std::string_view version, std::string_view known) {
  const auto is_number = [](std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_digit); };
  if (version == known) return true;
  if (!is_number(version) || !is_number(known)) return false;
  return std::pair(version.size(), version) < std::pair(known.size(), known);
}

}  // namespace cardcage
