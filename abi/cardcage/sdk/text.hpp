// SPDX-License-Identifier: Apache-2.0
// Errors, texts and quantities. Included by sdk.hpp.
#ifndef CARDCAGE_SDK_TEXT_HPP_
#define CARDCAGE_SDK_TEXT_HPP_

#include <cardcage/module.h>

#include <cstddef>
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

namespace detail {

// The size of the well-formed UTF-8 character (Unicode 15, table 3-7) that the text begins with; 0 if there is none.
inline std::size_t character_size(std::string_view text) noexcept {
  const auto byte = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto within = [&byte](std::size_t i, unsigned low, unsigned high) { return byte(i) >= low && byte(i) <= high; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return text.empty() ? 0 : 1;
  if (lead >= 0xC2 && lead <= 0xDF) return within(1, 0x80, 0xBF) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF)
    return within(1, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF) && within(2, 0x80, 0xBF) ? 3 : 0;
  if (lead >= 0xF0 && lead <= 0xF4)
    return within(1, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF) && within(2, 0x80, 0xBF) &&
                   within(3, 0x80, 0xBF)
               ? 4
               : 0;
  return 0;
}

}  // namespace detail

// Returns the text in the form that Kubernetes accepts for an attribute: at most 64 bytes, cut between characters.
// Control characters and bytes that are not UTF-8 become '?'. A text from hardware, such as a product name, may have
// any length and bytes, and the host leaves a device out whose attributes Kubernetes would refuse.
inline std::string attribute_text(std::string_view text) {
  constexpr std::size_t kMost = 64;
  std::string fitting;
  while (!text.empty()) {
    const std::size_t size = detail::character_size(text);
    const bool is_shown = size > 1 || (size == 1 && text[0] >= ' ' && text[0] != '\x7f');
    const std::string_view shown = is_shown ? text.substr(0, size) : std::string_view("?");
    if (fitting.size() + shown.size() > kMost) break;
    fitting += shown;
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return fitting;
}

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
