// Reads what a module passes by pointer: within bounds, and never past the struct_size that it set.
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

// How many bytes of a module's text an error quotes.
constexpr std::size_t kQuoted = 80;

// Copies an extensible struct [R2] and leaves out the members that a newer module adds. All these structs are as old as
// the ABI itself, so the struct must have every member of version 0.1.
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

// Borrows the text. Fails if it is longer than `max` bytes or has a size and no data.
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

// Copies a text that satisfies `rule`; `expected` describes the rule in errors.
template <class Rule>
Result<std::string> ruled_text(cage_str given, Rule rule, std::string_view what, std::string_view expected) {
  const auto text = text_of(given, 4096, what);
  if (!text) return std::unexpected(text.error());
  if (!rule(*text)) return fail(Code::kInvalidArgument, "{} '{}' is not {}", what, printable(*text, kQuoted), expected);
  return std::string(*text);
}

}  // namespace cardcage
