#include "modules/fpga/bitstream/uuid.h"

namespace cardcage::fpga {

std::string hex_of(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

std::string hex_digits(std::string_view text, std::size_t count) {
  if (text.size() != count) return {};
  std::string digits(text);
  for (char& c : digits) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
    if ((c < '0' || c > '9') && (c < 'a' || c > 'f')) return {};
  }
  return digits;
}

std::string normal_uuid(std::string_view text) {
  if (text.size() != 36) return hex_digits(text, 32);
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash && text[i] != '-') return {};
    if (!dash) digits += text[i];
  }
  return hex_digits(digits, 32);
}

std::string uuid_of(std::span<const std::byte, 16> bytes) { return hex_of(bytes); }

}  // namespace cardcage::fpga
