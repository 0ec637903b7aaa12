// Numbers in the byte order of ttrpc and its multiplexer: the most significant byte first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cardcage {

inline void append_big_endian(std::string& bytes, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>((number >> shift) & 0xff));
}

// `bytes` has at least four bytes from `at` on.
inline std::uint32_t read_big_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = at; i < at + 4; ++i) number = number << 8 | static_cast<std::uint8_t>(bytes[i]);
  return number;
}

}  // namespace cardcage
