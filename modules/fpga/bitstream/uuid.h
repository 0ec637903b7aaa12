// UUIDs of interfaces and functions. sysfs writes them without dashes, bitstreams with dashes or as bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cardcage::fpga {

// Returns 32 lower-case hex digits, the form in which this module compares UUIDs; empty if the text is not a UUID.
// Dashes are either all there (8-4-4-4-12) or all left out.
std::string normal_uuid(std::string_view text);

// Returns the normal UUID of 16 bytes, the first byte first.
std::string uuid_of(std::span<const std::byte, 16> bytes);

// Returns two lower-case digits for each byte.
std::string hex_of(std::span<const std::byte> bytes);

// Returns the same digits in lower case; empty unless the text has exactly `count` hexadecimal digits.
std::string hex_digits(std::string_view text, std::size_t count);

}  // namespace cardcage::fpga
