// SPDX-License-Identifier: Apache-2.0
// Declared options and parameters, and their values. Included by sdk.hpp.
#ifndef CARDCAGE_SDK_OPTIONS_HPP_
#define CARDCAGE_SDK_OPTIONS_HPP_

#include <cardcage/sdk/text.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <utility>

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

  // For a parameter: an object whose values are texts. Its default is {}.
  static constexpr Option map(std::string_view name, std::string_view help) {
    return {CAGE_OPTION_MAP, name, {}, help};
  }

  // Bounds the value of integers and durations (nanoseconds), and the length of texts, lists and maps.
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
  // For a parameter: a DeviceClass may give it, a ResourceClaim may not.
  constexpr Option class_only() const { return with(CAGE_OPTION_CLASS_ONLY); }
  // Makes a text or map parameter one of amounts as Kubernetes writes them: 4Gi. The value is the whole number.
  constexpr Option quantity() const { return with(CAGE_OPTION_QUANTITY); }
  // Lets items of a list be objects, in an option tables. Each comes as lines "NAME=VALUE\n", sorted by name; a list in
  // a table has a line for each item.
  constexpr Option objects() const { return with(CAGE_OPTION_OBJECTS); }

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

namespace detail {
// Hidden copies of a T's fields, because T's own declarations are as visible as T.
#pragma GCC visibility push(hidden)
template <const auto& Fields, class Indices = std::make_index_sequence<std::size(Fields)>>
struct FieldList;
template <const auto& Fields, std::size_t... I>
struct FieldList<Fields, std::index_sequence<I...>> {
  static constexpr std::array<cage_option, sizeof...(I)> copies{Fields[I].raw...};
  static constexpr std::array<const cage_option*, sizeof...(I)> pointers{&copies[I]...};
};
#pragma GCC visibility pop
}  // namespace detail

// One kind of parameters [R19]. Names of fields may be paths of nested objects:
//
//   static constexpr cage::Option gpu_fields[] = {cage::Option::text("sharing.strategy", "", "how pods share it")};
//   static constexpr cage_str gpus[] = {CAGE_LIT("gpu")};
//   static constexpr cage::Schema declared_schemas[] = {
//       cage::Schema::of<gpu_fields>("gpu.example.com/v1", "GpuConfig").devices(gpus)};
struct Schema {
  cage_params_schema raw{};

  template <const auto& Fields>
  static constexpr Schema of(std::string_view api_version, std::string_view kind) {
    using List = detail::FieldList<Fields>;
    return {cage_params_schema{sizeof(cage_params_schema), static_cast<std::uint32_t>(List::pointers.size()),
                               detail::raw(api_version), detail::raw(kind), List::pointers.data(), nullptr, 0, 0}};
  }
  // The kinds of devices (cage_device.kind) that take it; without them all do. `kinds` must be a constant array.
  template <std::size_t N>
  constexpr Schema devices(const cage_str (&kinds)[N]) const {
    Schema changed = *this;
    changed.raw.device_kinds = kinds;
    changed.raw.device_kind_count = static_cast<std::uint32_t>(N);
    return changed;
  }
  // Lets the last of several documents replace the others, instead of merging them field by field.
  constexpr Schema whole() const {
    Schema changed = *this;
    changed.raw.flags |= CAGE_SCHEMA_WHOLE;
    return changed;
  }
  // A kind whose text the module reads itself, from Claim::params: the host checks only apiVersion and kind.
  static constexpr Schema raw_text(std::string_view api_version, std::string_view kind) {
    return {cage_params_schema{sizeof(cage_params_schema), 0, detail::raw(api_version), detail::raw(kind), nullptr,
                               nullptr, 0, CAGE_SCHEMA_RAW}};
  }
  // Makes it the kind of documents that name neither apiVersion nor kind.
  constexpr Schema by_default() const {
    Schema changed = *this;
    changed.raw.flags |= CAGE_SCHEMA_DEFAULT;
    return changed;
  }
};

// The source of a parameter.
enum class Source { by_default = -1, device_class = CAGE_PARAMS_CLASS, claim = CAGE_PARAMS_CLAIM };

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
  // Sorted by key.
  std::vector<std::pair<std::string_view, std::string_view>> map(const char* name) const {
    const cage_str *keys = nullptr, *values = nullptr;
    const std::uint32_t count = CAGE_CAN(values_, map) ? values_->map(values_, name, &keys, &values) : 0;
    std::vector<std::pair<std::string_view, std::string_view>> entries;
    for (std::uint32_t i = 0; i < count; ++i) entries.emplace_back(detail::view(keys[i]), detail::view(values[i]));
    return entries;
  }
  // Returns false if the value is the default. An object with parameters may be given, too: "sharing".
  bool given(const char* name) const { return values_->given(values_, name) != 0; }
  // by_default also of an option of the module, and on a host older than 0.3.
  Source source(const char* name) const {
    return CAGE_CAN(values_, source) ? static_cast<Source>(values_->source(values_, name)) : Source::by_default;
  }
  // The kind of the parameters; empty for options.
  std::string_view kind() const {
    return CAGE_HAS(values_, params_kind) ? detail::view(values_->params_kind) : std::string_view();
  }

 private:
  const cage_values* values_;
};

}  // namespace cage

#endif  // CARDCAGE_SDK_OPTIONS_HPP_
