// What the header of a bitstream says. Every byte of the file is untrusted: numbers are bounded before they are used,
// and only small pieces are read.
#pragma once

#include <cardcage/sdk/text.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cardcage::fpga {

enum class Format {
  kGbs,     // Intel and Altera: FME_PORT_PR gets what follows the header
  kXclbin,  // AMD: XRT's tool gets the whole file
  kRaw,     // no header that this module knows: the kernel's fpga_manager gets the whole file
};

struct Bitstream {
  Format format = Format::kRaw;
  std::string interface_id, function_id;                  // normal UUIDs (uuid.h); empty if the header names none
  std::string platform;                                   // platform-name of a GBS, VBNV of an xclbin
  std::uint64_t data_start = 0, data_size = 0;            // the part of the file that the hardware gets
  std::optional<unsigned> clock_high_mhz, clock_low_mhz;  // unset: absent, 0 or "auto"
  std::optional<unsigned> watts;
};

// A file from which parsers read small pieces.
class FileBytes {
 public:
  // Fills as much of `into` as the file has from `offset`, and returns how much that is.
  using Read = std::function<std::size_t(std::uint64_t offset, std::span<char> into)>;
  FileBytes(std::uint64_t size, Read read) : size_(size), read_(std::move(read)) {}

  std::uint64_t size() const { return size_; }
  // Fewer than `count` bytes only where the file ends.
  std::string at(std::uint64_t offset, std::size_t count) const;

 private:
  std::uint64_t size_;
  Read read_;
};

// Recognises the format by its first bytes. Throws cage::Error with the cause and the remedy; the caller knows the
// subject.
Bitstream parse_bitstream(const FileBytes& file);

// FAILED_PRECONDITION, which is what every fault of a bitstream or its manifest is.
[[noreturn]] void refuse(const std::string& text);

// The text for an error: printable ASCII characters, and no more of them than a person reads.
std::string printable(std::string_view text, std::size_t most = 80);
bool is_printable(std::string_view text);

template <class Number>
Number little_endian(std::string_view bytes, std::size_t offset) {
  Number value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    value = static_cast<Number>(value | static_cast<Number>(static_cast<unsigned char>(bytes[offset + i])) << 8 * i);
  return value;
}

}  // namespace cardcage::fpga
