// SPDX-License-Identifier: Apache-2.0
// Declared options and parameters, and their values. Included by sdk.hpp.
#ifndef CARDCAGE_SDK_OPTIONS_HPP_
#define CARDCAGE_SDK_OPTIONS_HPP_

#include <cardcage/sdk/text.hpp>

#include <chrono>

namespace cage {

// One option or parameter: static constexpr cage::Option declared_options[] = {cage::Option::integer(...), ...};
struct Option {
  cage_option raw{};

  // The default is written as in TOML, without quotes: "42", "true", "1m30s"; lists: "[\"a\", \"b\"]".
  static constexpr Option text(std::string_view name, std::string_view initial, std::string_view help) {
    return {CAGE_OPTION_STRING, name, initial, help};
  }
  static constexpr Option integer(std::string_view name, std::string_view initial, std::string_view help) {
    return {CAGE_OPTION_INT, name, initial, help};
  }
  static constexpr Option boolean(std::string_view name, std::string_view initial, std::string_view help) {
    return {CAGE_OPTION_BOOL, name, initial, help};
  }
  static constexpr Option duration(std::string_view name, std::string_view initial, std::string_view help) {
    return {CAGE_OPTION_DURATION, name, initial, help};
  }
  static constexpr Option list(std::string_view name, std::string_view initial, std::string_view help) {
    return {CAGE_OPTION_LIST, name, initial, help};
  }

  // Bounds the value of integers and durations (nanoseconds), and the length of texts and lists.
  constexpr Option range(std::int64_t min, std::int64_t max) const {
    Option changed = *this;
    changed.raw.min = min;
    changed.raw.max = max;
    return changed;
  }
  // `choices` must be a constant array: static constexpr cage_str kModes[] = {CAGE_LIT("a"), CAGE_LIT("b")};
  template <std::size_t N>
  constexpr Option one_of(const cage_str (&choices)[N]) const {
    Option changed = *this;
    changed.raw.choices = choices;
    changed.raw.choice_count = static_cast<std::uint32_t>(N);
    return changed;
  }
  constexpr Option required() const { return with(CAGE_OPTION_REQUIRED); }
  constexpr Option secret() const { return with(CAGE_OPTION_SECRET); }
  constexpr Option live() const { return with(CAGE_OPTION_LIVE); }

 private:
  constexpr Option(std::uint32_t type, std::string_view name, std::string_view initial, std::string_view help)
      : raw{sizeof(cage_option), type,    0, 0, detail::raw(name), detail::raw(initial),
            detail::raw(help),   nullptr, 0, 0} {}
  constexpr Option with(std::uint32_t flag) const {
    Option changed = *this;
    changed.raw.flags |= flag;
    return changed;
  }
};

// The checked values of declared options or parameters.
class Values {
 public:
  explicit Values(const cage_values* values) : values_(values) {}

  std::int64_t integer(const char* name) const { return values_->integer(values_, name); }
  bool boolean(const char* name) const { return values_->boolean(values_, name) != 0; }
  std::string_view text(const char* name) const { return detail::view(values_->string(values_, name)); }
  std::chrono::nanoseconds duration(const char* name) const { return std::chrono::nanoseconds(integer(name)); }
  std::vector<std::string_view> list(const char* name) const {
    const cage_str* items = nullptr;
    const std::uint32_t count = values_->list(values_, name, &items);
    return detail::views(items, count);
  }
  // Returns false if the value is the default.
  bool given(const char* name) const { return values_->given(values_, name) != 0; }

 private:
  const cage_values* values_;
};

}  // namespace cage

#endif  // CARDCAGE_SDK_OPTIONS_HPP_
