#include "modules/fpga/bitstream/bitstream.h"

#include <algorithm>

#include "modules/fpga/bitstream/gbs.h"
#include "modules/fpga/bitstream/xclbin.h"

namespace cardcage::fpga {

std::string FileBytes::at(std::uint64_t offset, std::size_t count) const {
  if (offset >= size_) return {};
  std::string bytes(static_cast<std::size_t>(std::min<std::uint64_t>(count, size_ - offset)), '\0');
  bytes.resize(read_(offset, bytes));
  return bytes;
}

Bitstream parse_bitstream(const FileBytes& file) {
  const std::string head = file.at(0, 16);
  if (is_gbs(head)) return parse_gbs(file);
  if (is_legacy_gbs(head)) return parse_legacy_gbs(file);
  if (is_xclbin(head)) return parse_xclbin(file);
  if (head.starts_with("\x7f"
                       "ELF"))
    refuse("it is an ELF file, as Intel's OpenCL compiler writes (.aocx); extract the GBS file from it and use that");
  if (head.empty()) refuse("the file is empty; copy it into the catalogue again");
  return {.format = Format::kRaw, .data_size = file.size()};
}

void refuse(const std::string& text) { throw cage::Error(CAGE_FAILED_PRECONDITION, text); }

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

std::string printable(std::string_view text, std::size_t most) {
  std::string shown(text.substr(0, most));
  std::ranges::replace_if(shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > most ? shown + "..." : shown;
}

}  // namespace cardcage::fpga
