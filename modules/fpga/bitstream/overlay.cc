#include "modules/fpga/bitstream/overlay.h"

#include <cstdint>

#include "modules/fpga/bitstream/bitstream.h"

namespace cardcage::fpga {
namespace {

constexpr std::uint32_t kTreeMagic = 0xd00dfeed;
constexpr std::size_t kTreeHeaderSize = 40, kMostNames = 16;
enum Token : std::uint32_t { kBeginNode = 1, kEndNode = 2, kProperty = 3, kNop = 4, kEnd = 9 };

[[noreturn]] void refuse_tree() { refuse("it is not a flattened device tree; build it with: dtc -@ -O dtb"); }

std::uint32_t big_endian(std::string_view bytes, std::size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < 4) refuse_tree();
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[offset + i]);
  return value;
}

std::string_view part(std::string_view bytes, std::uint32_t offset, std::uint32_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) refuse_tree();
  return bytes.substr(offset, size);
}

// Returns the text at `offset` without its terminating zero.
std::string_view text_at(std::string_view bytes, std::size_t offset) {
  const std::size_t end = offset < bytes.size() ? bytes.find('\0', offset) : std::string_view::npos;
  if (end == std::string_view::npos) refuse_tree();
  return bytes.substr(offset, end - offset);
}

std::size_t aligned(std::size_t offset) { return (offset + 3) / 4 * 4; }

void add_names(std::string_view list, std::vector<std::string>& names) {
  for (std::size_t at = 0; at < list.size();) {
    if (names.size() == kMostNames) refuse("it names more than 16 bitstreams; build an overlay for each");
    names.emplace_back(text_at(list, at));
    at += names.back().size() + 1;
  }
}

}  // namespace

std::vector<std::string> firmware_names(std::string_view overlay) {
  if (overlay.size() < kTreeHeaderSize || big_endian(overlay, 0) != kTreeMagic) refuse_tree();
  const std::string_view tree = part(overlay, big_endian(overlay, 8), big_endian(overlay, 36));
  const std::string_view strings = part(overlay, big_endian(overlay, 12), big_endian(overlay, 32));
  std::vector<std::string> names;
  for (std::size_t at = 0;;) {
    const std::uint32_t token = big_endian(tree, at);
    at += 4;
    if (token == kEnd) return names;
    if (token == kBeginNode) at = aligned(at + text_at(tree, at).size() + 1);
    if (token == kProperty) {
      const std::uint32_t size = big_endian(tree, at), name = big_endian(tree, at + 4);
      const std::string_view value = part(tree, static_cast<std::uint32_t>(at + 8), size);
      if (text_at(strings, name) == "firmware-name") add_names(value, names);
      at = aligned(at + 8 + size);
    }
    if (token == 0 || (token > kNop && token != kEnd)) refuse_tree();
  }
}

}  // namespace cardcage::fpga
