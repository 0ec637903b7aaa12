// UUIDs of interfaces and functions. sysfs writes them without dashes, bitstreams with dashes or as bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cardcage::fpga {

// 32 lower-case hex digits, which is how this module compares UUIDs; empty if the text is no UUID. Dashes are either
// all there (8-4-4-4-12) or all left out.
std::string normal_uuid(std::string_view text);

// The normal UUID of 16 bytes, the first byte first.
std::string uuid_of(std::span<const std::byte, 16> bytes);

// Two lower-case digits for each byte.
std::string hex_of(std::span<const std::byte> bytes);

// The same digits in lower case; empty if there are not `count` of them, or other characters.
std::string hex_digits(std::string_view text, std::size_t count);

}  // namespace cardcage::fpga
