// The header of a bitstream. Every byte of the file is untrusted: numbers are bounded before they are used, and only
// small pieces are read.
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
  kGbs,     // Intel and Altera: FME_PORT_PR gets the bytes behind the header
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
  // Reads from `offset` into `into`, and returns the number of bytes that the file had there.
  using Read = std::function<std::size_t(std::uint64_t offset, std::span<char> into)>;
  FileBytes(std::uint64_t size, Read read) : size_(size), read_(std::move(read)) {}

  std::uint64_t size() const { return size_; }
  // Returns `count` bytes, or fewer at the end of the file.
  std::string at(std::uint64_t offset, std::size_t count) const;

 private:
  std::uint64_t size_;
  Read read_;
};

// Recognises the format by its first bytes. Throws cage::Error with the cause and the remedy; the caller knows the
// subject.
Bitstream parse_bitstream(const FileBytes& file);

// Throws FAILED_PRECONDITION, the status for every fault of a bitstream or its manifest.
[[noreturn]] void refuse(const std::string& text);

// Prepares a text for an error: replaces characters that are not printable ASCII, and shortens the text to `most`.
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
