#include "modules/fpga/bitstream/xclbin.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "modules/fpga/bitstream/uuid.h"

namespace cardcage::fpga {
namespace {

constexpr std::string_view kXclbinMagic("xclbin2\0", 8);
constexpr std::size_t kSignatureLength = 8, kLength = 304, kMode = 332, kInterface = 336, kPlatform = 352,
                      kPlatformSize = 64, kDesign = 416, kSectionCount = 448, kXclbinHeaderSize = 456;
constexpr std::size_t kSectionSize = 40, kSectionOffsetAt = 24, kSectionLengthAt = 32;
constexpr std::uint32_t kMostSections = 0x10000, kSectionsPerRead = 256;
constexpr const char* kRebuildXclbin = "; build it again with v++, or xclbinutil";
constexpr const char* kCopy = "; copy it into the catalogue again";

// BITSTREAM, PDI, BITSTREAM_PARTIAL_PDI, PARTITION_METADATA
bool is_design(std::uint32_t kind) { return kind == 0 || kind == 18 || kind == 19 || kind == 20; }

// Returns nothing for a UUID that is all zero: the field is unused.
std::string uuid_at(std::string_view head, std::size_t offset) {
  const std::string uuid = uuid_of(std::as_bytes(std::span<const char, 16>(head.data() + offset, 16)));
  return uuid.find_first_not_of('0') == std::string::npos ? std::string() : uuid;
}

// Returns the offset at which the sections end. The length of the file includes a signature, which may follow them.
// XRT's driver subtracts one from the other unchecked.
std::uint64_t end_of_sections(std::string_view head, std::uint64_t file_size) {
  const auto length = little_endian<std::uint64_t>(head, kLength);
  if (length > file_size)
    refuse("it has " + std::to_string(file_size) + " of the " + std::to_string(length) + " bytes that its header says" +
           kCopy);
  if (length < kXclbinHeaderSize)
    refuse("its header says that the file has " + std::to_string(length) +
           " bytes, which is less than the header itself" + kRebuildXclbin);
  const auto signature = static_cast<std::int32_t>(little_endian<std::uint32_t>(head, kSignatureLength));
  if (signature == -1) return length;  // unsigned
  if (signature < 0 || static_cast<std::uint64_t>(signature) > length - kXclbinHeaderSize)
    refuse("its header says that the signature has " + std::to_string(signature) + " bytes of " +
           std::to_string(length) + "; sign it again with xclbinutil");
  return length - static_cast<std::uint64_t>(signature);
}

// HW_EMU, SW_EMU, HW_EMU_PR
bool is_emulation(std::uint16_t mode) { return mode >= 4 && mode <= 6; }

struct Section {
  std::uint64_t offset = 0, end = 0;
  std::uint32_t number = 0;
};

void require_apart(std::vector<Section> sections) {
  std::ranges::sort(sections, {}, &Section::offset);
  for (std::size_t i = 1; i < sections.size(); ++i)
    if (sections[i].offset < sections[i - 1].end)
      refuse("its sections " + std::to_string(sections[i - 1].number) + " and " + std::to_string(sections[i].number) +
             " overlap" + kCopy);
}

// Returns whether a section is a design for the hardware. Every section must be inside the file, behind the table and
// apart from the others.
bool read_sections(const FileBytes& file, std::uint32_t count, std::uint64_t end) {
  bool has_design = false;
  const std::uint64_t begin = kXclbinHeaderSize + std::uint64_t{count} * kSectionSize;
  std::vector<Section> sections;
  for (std::uint32_t first = 0; first < count; first += kSectionsPerRead) {
    const std::size_t wanted = std::min(count - first, kSectionsPerRead) * kSectionSize;
    const std::string table = file.at(kXclbinHeaderSize + std::uint64_t{first} * kSectionSize, wanted);
    if (table.size() < wanted) refuse(std::string("it ends inside its table of sections") + kCopy);
    for (std::size_t at = 0; at < wanted; at += kSectionSize) {
      const auto kind = little_endian<std::uint32_t>(table, at);
      const auto offset = little_endian<std::uint64_t>(table, at + kSectionOffsetAt);
      const auto size = little_endian<std::uint64_t>(table, at + kSectionLengthAt);
      const auto number = static_cast<std::uint32_t>(first + at / kSectionSize);
      const std::string subject = "section " + std::to_string(number) + " (kind " + std::to_string(kind) + ")";
      if (offset > end || size > end - offset) refuse(subject + " lies outside the file" + kCopy);
      if (size > 0 && offset < begin) refuse(subject + " lies in the header or the table of sections" + kCopy);
      if (size > 0) sections.push_back({.offset = offset, .end = offset + size, .number = number});
      has_design = has_design || (is_design(kind) && size > 0);
    }
  }
  require_apart(std::move(sections));
  return has_design;
}

}  // namespace

bool is_xclbin(std::string_view head) { return head.starts_with("xclbin"); }

Bitstream parse_xclbin(const FileBytes& file) {
  const std::string head = file.at(0, kXclbinHeaderSize);
  if (!head.starts_with(kXclbinMagic))
    refuse("it is an xclbin file of another version than 2; build it again with a v++ of 2018 or later");
  if (head.size() < kXclbinHeaderSize) refuse(std::string("it ends inside its xclbin header") + kCopy);
  if (const auto mode = little_endian<std::uint16_t>(head, kMode); is_emulation(mode))
    refuse("it is for emulation (mode " + std::to_string(mode) +
           "), and no card can run it; link it for the target 'hw'");
  const std::uint64_t end = end_of_sections(head, file.size());
  const auto count = little_endian<std::uint32_t>(head, kSectionCount);
  if (count == 0 || count > kMostSections || std::uint64_t{count} * kSectionSize > end - kXclbinHeaderSize)
    refuse("its header says that it has " + std::to_string(count) + " sections, where 1 to " +
           std::to_string(std::min<std::uint64_t>(kMostSections, (end - kXclbinHeaderSize) / kSectionSize)) + " fit" +
           kRebuildXclbin);
  if (!read_sections(file, count, end))
    refuse(
        "it has no design for the hardware (no section BITSTREAM, PDI or PARTITION_METADATA); link it for the target "
        "'hw'");
  std::string platform = head.substr(kPlatform, kPlatformSize);
  platform.resize(std::min(platform.size(), platform.find('\0')));
  if (!is_printable(platform))
    refuse("the name of its platform (VBNV) has characters that cannot be printed: '" + printable(platform) + "'" +
           kRebuildXclbin);
  return {.format = Format::kXclbin,
          .interface_id = uuid_at(head, kInterface),
          .function_id = uuid_at(head, kDesign),
          .platform = platform,
          .data_size = file.size()};
}

}  // namespace cardcage::fpga
