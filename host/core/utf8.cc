#include "host/core/utf8.h"

#include <cstdint>

namespace cardcage {

static constexpr std::string_view kEllipsis = "...";

std::size_t utf8_character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0u; };
  const auto within = [&](std::size_t i, unsigned low, unsigned high) { return byte(i) >= low && byte(i) <= high; };
  const auto tail = [&](std::size_t i) { return within(i, 0x80, 0xBF); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return text.empty() ? 0 : 1;
  if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF)
    return within(1, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF) && tail(2) ? 3 : 0;
  if (lead >= 0xF0 && lead <= 0xF4)
    return within(1, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF) && tail(2) && tail(3) ? 4 : 0;
  return 0;
}

std::string cut_utf8(std::string_view text, std::size_t max) {
  const bool cut = text.size() > max;
  const std::string_view ending = cut && max >= kEllipsis.size() ? kEllipsis : std::string_view();
  const std::size_t room = cut ? max - ending.size() : max;
  std::string out;
  out.reserve(cut ? max : text.size());
  while (!text.empty()) {
    const std::size_t size = utf8_character_size(text);
    const std::size_t taken = size == 0 ? 1 : size;
    if (out.size() + taken > room) break;
    if (size == 0)
      out += '?';
    else
      out += text.substr(0, size);
    text.remove_prefix(taken);
  }
  return out.append(ending);
}

}  // namespace cardcage
