// Reading what a module passes by pointer: bounded, and never past what it filled in.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "cardcage/module.h"
#include "host/core/result.h"
#include "host/model/text_rules.h"

namespace cardcage {

// How much of a module's text an error repeats.
constexpr std::size_t kQuoted = 80;

// A copy of an extensible struct [R2]: what the module's version lacks is zero, what it has on top is left out. Ours
// are all as old as the ABI itself, so that every member of version 0.1 must be there.
template <class T>
Result<T> adopt(const T* given, std::string_view type) {
  if (given == nullptr) return fail(Code::kInvalidArgument, "{} is NULL", type);
  if (given->struct_size < sizeof(T) || given->struct_size > 4096)
    return fail(Code::kInvalidArgument, "struct_size of {} is {}: set it to sizeof({}) [R2]", type, given->struct_size,
                type);
  T copy{};
  std::memcpy(&copy, given, sizeof copy);
  return copy;
}

// The text itself, borrowed; an error if it is longer than `max` bytes or has a size and no data.
inline Result<std::string_view> text_of(cage_str text, std::size_t max, std::string_view what) {
  if (text.size == 0) return std::string_view();
  if (text.data == nullptr) return fail(Code::kInvalidArgument, "{} has {} bytes and no data", what, text.size);
  if (text.size > max)
    return fail(Code::kInvalidArgument, "{} has {} bytes, at most {} are allowed", what, text.size, max);
  return std::string_view(text.data, text.size);
}

template <class T>
Result<std::span<const T>> items_of(const T* items, std::uint32_t count, std::size_t max, std::string_view what) {
  if (count == 0) return std::span<const T>();
  if (items == nullptr) return fail(Code::kInvalidArgument, "{} has {} entries and no data", what, count);
  if (count > max) return fail(Code::kInvalidArgument, "{} has {} entries, at most {} are allowed", what, count, max);
  return std::span<const T>(items, count);
}

// A text that obeys `rule`; `expected` says what the rule wants.
template <class Rule>
Result<std::string> ruled_text(cage_str given, Rule rule, std::string_view what, std::string_view expected) {
  const auto text = text_of(given, 4096, what);
  if (!text) return std::unexpected(text.error());
  if (!rule(*text)) return fail(Code::kInvalidArgument, "{} '{}' is not {}", what, printable(*text, kQuoted), expected);
  return std::string(*text);
}

}  // namespace cardcage
