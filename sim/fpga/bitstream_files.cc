#include "sim/fpga/bitstream_files.h"

#include <algorithm>

namespace cardcage {
namespace {

std::string bytes_of(const std::string& uuid) {
  std::string bytes;
  std::string digits = uuid;
  std::erase(digits, '-');
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoul(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

template <class Number>
std::string little(Number number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof number; ++i) bytes += static_cast<char>(number >> 8 * i & 0xff);
  return bytes;
}

std::string big(std::uint32_t number) {
  std::string bytes = little(number);
  std::ranges::reverse(bytes);
  return bytes;
}

std::string padded(std::string text, std::size_t size) {
  text.resize(size, '\0');
  return text;
}

// Pads a property or the name of a node to whole words.
std::string in_words(const std::string& text) { return padded(text, (text.size() + 3) / 4 * 4); }

}  // namespace

std::string make_gbs(const GbsFile& file) {
  const std::string metadata = file.metadata.value_or(
      R"({"version": 1, "platform-name": ")" + file.platform + R"(", "afu-image": {"magic-no": 488605312, )" +
      R"("interface-uuid": ")" + file.interface_uuid + R"(", "power": )" + file.power +
      R"(, "clock-frequency-high": )" + file.clock_high + R"(, "clock-frequency-low": )" + file.clock_low +
      R"(, "afu-top-interface": {"class": "ccip_std_afu"}, "accelerator-clusters": [{"name": "nlb", )" +
      R"("total-contexts": 1, "accelerator-type-uuid": ")" + file.function_uuid + R"("}]}})");
  return "XeonFPGA\xb7GBSv001" + little(static_cast<std::uint32_t>(metadata.size())) + metadata + file.data;
}

std::string make_legacy_gbs(const std::string& interface_uuid, const std::string& data) {
  std::string id = bytes_of(interface_uuid);
  std::ranges::reverse(id);
  return little(std::uint32_t{0x1d1f8680}) + id + data;
}

std::string make_xclbin(const XclbinFile& file) {
  const std::size_t table_end = 456 + 40 * file.sections.size();
  std::string table, contents;
  for (const XclbinSection& section : file.sections) {
    table += little(section.kind) + padded(section.name, 20) + little(std::uint64_t{table_end + contents.size()}) +
             little(std::uint64_t{section.content.size()});
    contents += section.content;
  }
  const std::uint64_t length = table_end + contents.size() + file.signature.size();
  const auto signature =
      file.signature.empty() ? std::uint32_t{0xffffffff} : static_cast<std::uint32_t>(file.signature.size());
  std::string head = padded("xclbin2", 8) + little(signature) + std::string(28 + 256, '\xff') +
                     little(std::uint64_t{1700000000}) + little(length) + little(std::uint64_t{1700000000}) +
                     little(std::uint64_t{0}) + little(std::uint16_t{0}) + '\x02' + '\x0f' + little(std::uint32_t{0}) +
                     padded(bytes_of(file.interface_uuid), 16) + padded(file.vbnv, 64) +
                     padded(bytes_of(file.design_uuid), 16) + std::string(16, '\0') +
                     little(static_cast<std::uint32_t>(file.sections.size())) + std::string(4, '\0');
  return head + table + contents + file.signature;
}

std::string make_overlay(const std::vector<std::string>& firmware_names) {
  const std::string strings = padded("target-path", 12) + padded("firmware-name", 14);
  const std::string target("/fpga-region\0", 13);
  std::string tree = big(1) + in_words(std::string(1, '\0')) + big(1) + in_words(padded("fragment@0", 11)) + big(3) +
                     big(13) + big(0) + in_words(target) + big(4) + big(1) + in_words(padded("__overlay__", 12));
  for (const std::string& name : firmware_names)
    tree += big(3) + big(static_cast<std::uint32_t>(name.size() + 1)) + big(12) + in_words(name + '\0');
  tree += big(2) + big(2) + big(2) + big(9);
  const auto tree_size = static_cast<std::uint32_t>(tree.size()),
             strings_size = static_cast<std::uint32_t>(strings.size());
  const std::uint32_t tree_start = 40 + 16;  // an empty map of reserved memory lies between
  return big(0xd00dfeed) + big(tree_start + tree_size + strings_size) + big(tree_start) + big(tree_start + tree_size) +
         big(40) + big(17) + big(16) + big(0) + big(strings_size) + big(tree_size) + std::string(16, '\0') + tree +
         strings;
}

}  // namespace cardcage
