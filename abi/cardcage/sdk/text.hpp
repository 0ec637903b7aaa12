// SPDX-License-Identifier: Apache-2.0
// Errors, texts and quantities. Included by sdk.hpp.
#ifndef CARDCAGE_SDK_TEXT_HPP_
#define CARDCAGE_SDK_TEXT_HPP_

#include <cardcage/module.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cage {

// Why a call fails: a CAGE_ status, and a text for people with subject, cause and remedy.
class Error : public std::runtime_error {
 public:
  Error(cage_status status, const std::string& text) : std::runtime_error(text), status_(status) {}
  cage_status status() const noexcept { return status_; }

 private:
  cage_status status_;
};

namespace detail {

constexpr cage_str raw(std::string_view text) noexcept { return {text.data(), text.size()}; }
constexpr std::string_view view(cage_str text) noexcept { return {text.data, text.size}; }

// A sink that refuses has already explained why; the empty text keeps that explanation.
inline void must(cage_status status) {
  if (status != CAGE_OK) throw Error(status, std::string());
}

inline std::vector<cage_str> raw_list(const std::vector<std::string>& texts) {
  std::vector<cage_str> list;
  list.reserve(texts.size());
  for (const std::string& text : texts) list.push_back(raw(text));
  return list;
}

inline std::vector<std::string_view> views(const cage_str* texts, std::uint32_t count) {
  std::vector<std::string_view> list;
  list.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) list.push_back(view(texts[i]));
  return list;
}

}  // namespace detail

struct Quantity {
  std::int64_t value = 0;
  std::int32_t exp10 = 0;
  std::uint32_t format = CAGE_QTY_DECIMAL;

  static constexpr Quantity bytes(std::int64_t value) { return {value, 0, CAGE_QTY_BINARY}; }
  static constexpr Quantity gib(std::int64_t value) { return {value << 30, 0, CAGE_QTY_BINARY}; }
  static constexpr Quantity count(std::int64_t value) { return {value, 0, CAGE_QTY_DECIMAL}; }
  static constexpr Quantity milli(std::int64_t value) { return {value, -3, CAGE_QTY_DECIMAL}; }
};
using Quantities = std::vector<std::pair<std::string, Quantity>>;

namespace detail {
inline std::vector<cage_quantity> raw_list(const Quantities& quantities) {
  std::vector<cage_quantity> list;
  list.reserve(quantities.size());
  for (const auto& [name, quantity] : quantities) {
    list.push_back({raw(name), quantity.value, quantity.exp10, quantity.format});
  }
  return list;
}
}  // namespace detail

}  // namespace cage

#endif  // CARDCAGE_SDK_TEXT_HPP_
