#include "modules/fpga/bitstream/gbs.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/stream_parser.hpp>
#include <boost/json/value.hpp>
#include <cmath>

#include "modules/fpga/bitstream/uuid.h"

namespace cardcage::fpga {
namespace {

namespace json = boost::json;

constexpr std::string_view kGuid("\x58\x65\x6f\x6e\x46\x50\x47\x41\xb7\x47\x42\x53\x76\x30\x30\x31", 16);
constexpr std::uint32_t kGbsMagic = 0x1d1f8680;
constexpr std::size_t kGbsHeaderSize = 20, kMostMetadata = 8191, kMostDepth = 32;
// OPAE bounds the user clock but not the power.
constexpr double kMostWatts = 1e6, kMostMhz = 1200;
constexpr const char* kRebuildGbs = "; build the file again with OPAE's packager";

// Returns nullptr if the object has no such member.
const json::value* member_of(const json::object& object, std::string_view name) { return object.if_contains(name); }

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

// Returns an empty text if the object has no such member.
std::string text_of(const json::object& object, std::string_view name) {
  const json::value* value = member_of(object, name);
  if (value == nullptr) return {};
  if (!value->is_string()) refuse(quoted(name) + " in its metadata is not text" + kRebuildGbs);
  return std::string(value->get_string());
}

std::string uuid_in(const json::object& object, std::string_view name) {
  const std::string text = text_of(object, name);
  const std::string uuid = normal_uuid(text);
  if (!text.empty() && uuid.empty())
    refuse(quoted(name) + " in its metadata is '" + printable(text) + "', which is not a UUID" + kRebuildGbs);
  return uuid;
}

std::optional<double> number_of(const json::object& object, std::string_view name, double most) {
  const json::value* value = member_of(object, name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) refuse(quoted(name) + " in its metadata is not a number" + kRebuildGbs);
  const double number = value->to_number<double>();
  if (!(number >= 0 && number <= most))
    refuse(quoted(name) + " in its metadata is " + printable(json::serialize(*value)) + ", where 0 to " +
           std::to_string(static_cast<unsigned>(most)) + " is allowed" + kRebuildGbs);
  return number;
}

// Rounded down, because a function may fail with a faster clock.
std::optional<unsigned> mhz_of(const json::object& image, std::string_view name) {
  const json::value* value = member_of(image, name);
  if (value != nullptr && value->is_string() && value->get_string().starts_with("auto")) return std::nullopt;
  const auto mhz = number_of(image, name, kMostMhz);
  if (!mhz || *mhz < 1) return std::nullopt;
  return static_cast<unsigned>(*mhz);
}

const json::object& object_in(const json::object& object, std::string_view name) {
  const json::value* value = member_of(object, name);
  if (value == nullptr || !value->is_object()) refuse("its metadata has no object " + quoted(name) + kRebuildGbs);
  return value->get_object();
}

std::string function_of(const json::object& image) {
  const json::value* clusters = member_of(image, "accelerator-clusters");
  if (clusters == nullptr || !clusters->is_array() || clusters->get_array().size() != 1 ||
      !clusters->get_array()[0].is_object())
    refuse(std::string("its metadata must have exactly one object in 'accelerator-clusters'") + kRebuildGbs);
  std::string function = uuid_in(clusters->get_array()[0].get_object(), "accelerator-type-uuid");
  if (function.empty())
    refuse(std::string("its metadata names no function ('accelerator-type-uuid' of 'accelerator-clusters')") +
           kRebuildGbs);
  return function;
}

// Reads one JSON object and ignores the bytes behind it, as OPAE does.
json::value parse_metadata(std::string_view text) {
  json::error_code error;
  json::parse_options options;
  options.max_depth = kMostDepth;
  json::stream_parser parser({}, options);
  parser.write_some(text, error);
  if (!error && !parser.done()) parser.finish(error);
  if (error) refuse("its metadata is not JSON (" + error.message() + ")" + kRebuildGbs);
  json::value metadata = parser.release();
  if (!metadata.is_object()) refuse(std::string("its metadata is not a JSON object") + kRebuildGbs);
  return metadata;
}

void take_metadata(const json::object& metadata, Bitstream& found) {
  if (const json::value* version = member_of(metadata, "version"); version != nullptr && !version->is_number())
    refuse(std::string("'version' in its metadata is not a number") + kRebuildGbs);
  found.platform = printable(text_of(metadata, "platform-name"), 64);
  const json::object& image = object_in(metadata, "afu-image");
  if (const json::value* magic = member_of(image, "magic-no");
      magic != nullptr && !(magic->is_int64() && magic->get_int64() == kGbsMagic))
    refuse("'magic-no' in its metadata is " + printable(json::serialize(*magic)) + ", where every GBS file has " +
           std::to_string(kGbsMagic) + kRebuildGbs);
  found.interface_id = uuid_in(image, "interface-uuid");
  found.function_id = function_of(image);
  if (const auto watts = number_of(image, "power", kMostWatts)) found.watts = static_cast<unsigned>(std::ceil(*watts));
  found.clock_high_mhz = mhz_of(image, "clock-frequency-high");
  found.clock_low_mhz = mhz_of(image, "clock-frequency-low");
  if (found.clock_high_mhz && found.clock_low_mhz && *found.clock_low_mhz > *found.clock_high_mhz)
    refuse(std::string("'clock-frequency-low' in its metadata is above 'clock-frequency-high'") + kRebuildGbs);
}

}  // namespace

bool is_gbs(std::string_view head) { return head.starts_with(kGuid); }

Bitstream parse_gbs(const FileBytes& file) {
  const std::string head = file.at(0, kGbsHeaderSize);
  if (head.size() < kGbsHeaderSize) refuse("it ends inside its GBS header; copy it into the catalogue again");
  const auto length = little_endian<std::uint32_t>(head, 16);
  if (length == 0 || length > kMostMetadata)
    refuse("its header says that the metadata has " + std::to_string(length) + " bytes, where 1 to " +
           std::to_string(kMostMetadata) + " are allowed" + kRebuildGbs);
  const std::uint64_t start = kGbsHeaderSize + length;
  const std::string text = file.at(kGbsHeaderSize, length);
  if (file.size() <= start || text.size() < length)
    refuse("it has " + std::to_string(file.size()) +
           " bytes and ends before the data for the hardware, which begins at " + std::to_string(start) +
           "; copy it into the catalogue again");
  Bitstream found{.format = Format::kGbs, .data_start = start, .data_size = file.size() - start};
  take_metadata(parse_metadata(text).get_object(), found);
  return found;
}

bool is_legacy_gbs(std::string_view head) {
  return head.size() >= 4 && little_endian<std::uint32_t>(head, 0) == kGbsMagic;
}

Bitstream parse_legacy_gbs(const FileBytes& file) {
  std::string head = file.at(0, kGbsHeaderSize);
  if (head.size() < kGbsHeaderSize || file.size() == kGbsHeaderSize)
    refuse("it ends inside its header, or right after it; copy it into the catalogue again");
  std::reverse(head.begin() + 4, head.end());
  const auto interface = std::as_bytes(std::span<const char, 16>(head.data() + 4, 16));
  return {.format = Format::kGbs,
          .interface_id = uuid_of(interface),
          .data_start = kGbsHeaderSize,
          .data_size = file.size() - kGbsHeaderSize};
}

}  // namespace cardcage::fpga
