// Tests the parsers of bitstream headers, and their errors for broken files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "modules/fpga/bitstream/nearest.h"
#include "modules/fpga/bitstream/overlay.h"
#include "modules/fpga/bitstream/uuid.h"
#include "sim/fpga/bitstream_files.h"
#include "tests/fpga/memory_file.h"

namespace cardcage::fpga {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kInterface = "69528db6eb31577a8c3668f9faa081f6";
constexpr const char* kFunction = "d8424dc4a4a3c413f89e433683f9040b";

Bitstream parse(const std::string& bytes) { return parse_bitstream(in_memory(bytes)); }

std::string refusal(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const cage::Error& error) {
    EXPECT_EQ(error.status(), CAGE_FAILED_PRECONDITION);
    return error.what();
  }
  return "it was taken";
}

std::string refusal_of_metadata(const std::string& metadata) { return refusal(make_gbs({.metadata = metadata})); }

// Returns the metadata of a good file with one part replaced.
std::string metadata_with(const std::string& part, const std::string& replacement) {
  std::string file = make_gbs({.data = ""});
  file.erase(0, 20);
  const std::size_t at = file.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return file.replace(at, part.size(), replacement);
}

template <class Number>
std::string with(std::string file, std::size_t offset, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i) file[offset + i] = static_cast<char>(number >> 8 * i & 0xff);
  return file;
}

TEST(Uuid, IsComparedWithoutDashesInLowerCase) {
  EXPECT_EQ(normal_uuid("69528DB6-EB31-577a-8c36-68f9faa081f6"), kInterface);
  EXPECT_EQ(normal_uuid("69528db6eb31577a8c3668F9FAA081F6"), kInterface);
  for (const char* none : {"", "69528db6", "69528db6eb31577a8c3668f9faa081f", "69528db6eb31577a8c3668f9faa081f6f",
                           "69528db6-eb31-577a-8c36-68f9faa081fg", "69528db6-eb31-577a-8c3668f9-faa081f6",
                           " 9528db6eb31577a8c3668f9faa081f6", "69528db6eb31-577a-8c36-68f9faa081f6-",
                           "------------------------------------"})
    EXPECT_EQ(normal_uuid(none), "") << none;
  std::array<std::byte, 16> bytes{};
  bytes[0] = std::byte{0xf0};
  bytes[15] = std::byte{0x0a};
  EXPECT_EQ(uuid_of(bytes), "f000000000000000000000000000000a");
}

TEST(Nearest, FindsTheWordThatWasMeant) {
  const std::vector<std::string> words = {"file", "sha256", "function"};
  EXPECT_EQ(nearest("fiel", words), "file") << "swapped neighbours are one edit";
  EXPECT_EQ(nearest("sha265", words), "sha256");
  EXPECT_EQ(nearest("fun", words), "");
  EXPECT_EQ(nearest(std::string(100'000, 'f'), words), "");
  EXPECT_EQ(nearest_hint("funktion", words), " (did you mean 'function'?)");
  EXPECT_EQ(nearest_hint("overlay", words), "");
}

TEST(Gbs, SaysWhatItIsForAndWhereTheDataBegins) {
  const std::string file = make_gbs({.clock_high = "312", .clock_low = "156"});
  const Bitstream found = parse(file);
  EXPECT_EQ(found.format, Format::kGbs);
  EXPECT_EQ(found.interface_id, kInterface);
  EXPECT_EQ(found.function_id, kFunction);
  EXPECT_EQ(found.platform, "DCP_1_0");
  EXPECT_EQ(found.data_size, 4096u);
  EXPECT_EQ(file.substr(found.data_start, found.data_size), std::string(4096, '\x5a'));
  EXPECT_EQ(found.clock_high_mhz, 312u);
  EXPECT_EQ(found.clock_low_mhz, 156u);
  EXPECT_EQ(found.watts, 20u);
}

TEST(Gbs, ClocksMayBeLeftToTheCard) {
  for (const char* clock : {R"("auto")", R"("auto-200")", "0"}) {
    const Bitstream found = parse(make_gbs({.clock_high = clock, .clock_low = clock}));
    EXPECT_EQ(found.clock_high_mhz, std::nullopt) << clock;
    EXPECT_EQ(found.clock_low_mhz, std::nullopt) << clock;
  }
  EXPECT_EQ(parse(make_gbs({.clock_high = "312.9"})).clock_high_mhz, 312u) << "never faster than it was built for";
  EXPECT_EQ(parse(make_gbs({.power = "12.2"})).watts, 13u) << "never less than it takes";
}

TEST(Gbs, MetadataNeedsOnlyTheFunction) {
  const Bitstream found =
      parse(make_gbs({.metadata = R"({"afu-image": {"accelerator-clusters": [{"accelerator-type-uuid":
                      "D8424DC4A4A3C413F89E433683F9040B"}]}})"}));
  EXPECT_EQ(found.function_id, kFunction);
  EXPECT_EQ(found.interface_id, "");
  EXPECT_EQ(found.watts, std::nullopt);
  EXPECT_EQ(found.clock_high_mhz, std::nullopt);
}

TEST(Gbs, ALengthOfMetadataIsBoundedBeforeItIsUsed) {
  for (const std::uint32_t length : {0u, 8192u, 0x7fffffffu, 0xffffffffu})
    EXPECT_EQ(refusal(with(make_gbs(), 16, length)),
              "its header says that the metadata has " + std::to_string(length) +
                  " bytes, where 1 to 8191 are allowed; build the file again with OPAE's packager");
  std::string metadata = metadata_with("{", "{");
  metadata.resize(8191, ' ');
  EXPECT_EQ(parse(make_gbs({.metadata = metadata})).data_start, 8211u);
}

TEST(Gbs, ACutFileIsRefusedWhereverItIsCut) {
  const std::string file = make_gbs({.data = "D"});
  for (std::size_t size = 16; size < file.size(); ++size)
    EXPECT_THAT(refusal(file.substr(0, size)), HasSubstr("; copy it into the catalogue again")) << size;
  EXPECT_EQ(parse(file).data_size, 1u);
  EXPECT_THAT(refusal(file.substr(0, file.size() - 1)), HasSubstr("ends before the data for the hardware"));
}

TEST(Gbs, WhatItsMetadataLacksIsNamed) {
  const std::string rebuild = "; build the file again with OPAE's packager";
  EXPECT_THAT(refusal_of_metadata("not json"), HasSubstr("its metadata is not JSON ("));
  EXPECT_EQ(refusal_of_metadata("[]"), "its metadata is not a JSON object" + rebuild);
  EXPECT_EQ(refusal_of_metadata("{}"), "its metadata has no object 'afu-image'" + rebuild);
  EXPECT_EQ(refusal_of_metadata(R"({"afu-image": 1})"), "its metadata has no object 'afu-image'" + rebuild);
  EXPECT_EQ(refusal_of_metadata(metadata_with(R"("version": 1)", R"("version": "1")")),
            "'version' in its metadata is not a number" + rebuild);
  EXPECT_EQ(refusal_of_metadata(metadata_with("488605312", "488605313")),
            "'magic-no' in its metadata is 488605313, where every GBS file has 488605312" + rebuild);
  EXPECT_EQ(refusal_of_metadata(metadata_with("69528db6-", "69528db6")),
            "'interface-uuid' in its metadata is '69528db6eb31-577a-8c36-68f9faa081f6', which is not a UUID" + rebuild);
  EXPECT_EQ(refusal_of_metadata(metadata_with(R"("interface-uuid": ")", R"("interface-uuid": 7, "x": ")")),
            "'interface-uuid' in its metadata is not text" + rebuild);
}

// OPAE accepts such metadata, too.
TEST(Gbs, OddMetadataIsTaken) {
  EXPECT_EQ(parse(make_gbs({.metadata = metadata_with(R"("version": 1)", R"("version": 1.5)")})).function_id,
            kFunction);
  EXPECT_EQ(parse(make_gbs({.metadata = metadata_with("{", "{") + std::string("\0 x", 3)})).function_id, kFunction);
  EXPECT_EQ(parse(make_gbs({.power = "225"})).watts, 225u);
  EXPECT_EQ(
      parse(make_gbs({.metadata = metadata_with(R"("platform-name": ")", R"("platform-name": "\u00e9)")})).platform,
      "??DCP_1_0");
  EXPECT_EQ(parse(make_gbs({.metadata = metadata_with(R"("version": 1)", R"("version": 1, "x": [[[[[[[[[]]]]]]]]])")}))
                .function_id,
            kFunction);
}

TEST(Gbs, HasExactlyOneFunction) {
  const std::string rebuild = "; build the file again with OPAE's packager";
  for (const char* clusters : {"[]", "[{}, {}]", "{}", "[1]", "null"})
    EXPECT_EQ(refusal_of_metadata(std::string(R"({"afu-image": {"accelerator-clusters": )") + clusters + "}}"),
              "its metadata must have exactly one object in 'accelerator-clusters'" + rebuild);
  EXPECT_EQ(refusal_of_metadata(metadata_with("accelerator-type-uuid", "accelerator-uuid")),
            "its metadata names no function ('accelerator-type-uuid' of 'accelerator-clusters')" + rebuild);
}

TEST(Gbs, NumbersOfTheMetadataAreBounded) {
  const std::string rebuild = "; build the file again with OPAE's packager";
  EXPECT_EQ(refusal(make_gbs({.power = "-1"})),
            "'power' in its metadata is -1, where 0 to 1000000 is allowed" + rebuild);
  EXPECT_EQ(refusal(make_gbs({.power = R"("20")"})), "'power' in its metadata is not a number" + rebuild);
  EXPECT_THAT(refusal(make_gbs({.power = "1e999"})), HasSubstr("; build the file again"));
  EXPECT_EQ(refusal(make_gbs({.clock_high = "18446744073709551615"})),
            "'clock-frequency-high' in its metadata is 18446744073709551615, where 0 to 1200 is allowed" + rebuild);
  EXPECT_EQ(refusal(make_gbs({.clock_low = R"("fast")"})),
            "'clock-frequency-low' in its metadata is not a number" + rebuild);
  EXPECT_EQ(refusal(make_gbs({.clock_high = "100", .clock_low = "200"})),
            "'clock-frequency-low' in its metadata is above 'clock-frequency-high'" + rebuild);
}

TEST(Gbs, DepthOfTheMetadataIsBounded) {
  EXPECT_THAT(refusal_of_metadata(std::string(4000, '[')), HasSubstr("its metadata is not JSON ("));
}

TEST(Xclbin, OneForEmulationIsRefused) {
  constexpr std::size_t kMode = 332;
  for (const std::uint16_t mode : std::initializer_list<std::uint16_t>{0, 1, 2, 3})
    EXPECT_EQ(parse(with(make_xclbin(), kMode, mode)).format, Format::kXclbin) << mode;
  for (const std::uint16_t mode : std::initializer_list<std::uint16_t>{4, 5, 6})
    EXPECT_EQ(refusal(with(make_xclbin(), kMode, mode)), "it is for emulation (mode " + std::to_string(mode) +
                                                             "), and no card can run it; link it for the target 'hw'");
}

TEST(Xclbin, SectionsAreApartFromEachOtherAndFromTheTable) {
  constexpr std::size_t kFirstOffset = 456 + 24, kSecondOffset = kFirstOffset + 40;
  const std::string file = make_xclbin({.sections = {{14, "", "{\"a\":1}"}, {0, "", "DESIGN"}}});
  const std::uint64_t begin = 456 + 2 * 40;
  EXPECT_EQ(parse(file).format, Format::kXclbin);
  for (const std::uint64_t inside : {std::uint64_t{0}, begin - 1})
    EXPECT_EQ(refusal(with(file, kFirstOffset, inside)),
              "section 0 (kind 14) lies in the header or the table of sections; copy it into the catalogue again");
  EXPECT_EQ(refusal(with(file, kSecondOffset, begin + 6)),
            "its sections 0 and 1 overlap; copy it into the catalogue again");
}

TEST(LegacyGbs, NamesOnlyTheInterface) {
  const Bitstream found = parse(make_legacy_gbs(kInterface, "DATA"));
  EXPECT_EQ(found.format, Format::kGbs);
  EXPECT_EQ(found.interface_id, kInterface);
  EXPECT_EQ(found.function_id, "");
  EXPECT_EQ(found.data_start, 20u);
  EXPECT_EQ(found.data_size, 4u);
  for (const std::size_t size : {4u, 19u, 20u})
    EXPECT_EQ(refusal(make_legacy_gbs(kInterface, "").substr(0, size)),
              "it ends inside its header, or right after it; copy it into the catalogue again");
}

TEST(Xclbin, SaysWhatItIsFor) {
  const std::string file = make_xclbin();
  const Bitstream found = parse(file);
  EXPECT_EQ(found.format, Format::kXclbin);
  EXPECT_EQ(found.interface_id, "937ed70867cf3350bc06304053f55ba0");
  EXPECT_EQ(found.function_id, "11b1a2c3d4e54f6081728394a5b6c7d8");
  EXPECT_EQ(found.platform, "xilinx_u250_gen3x16_xdma_shell_4_1");
  EXPECT_EQ(found.data_start, 0u) << "XRT's tool gets the whole file";
  EXPECT_EQ(found.data_size, file.size());
}

TEST(Xclbin, AFieldOfZerosNamesNothing) {
  const Bitstream found = parse(make_xclbin({.interface_uuid = "", .design_uuid = ""}));
  EXPECT_EQ(found.interface_id, "");
  EXPECT_EQ(found.function_id, "");
  EXPECT_EQ(parse(make_xclbin({.vbnv = std::string(64, 'v')})).platform, std::string(64, 'v')) << "without a zero";
}

TEST(Xclbin, EachKindOfDesignIsOne) {
  for (const std::uint32_t kind : {0u, 18u, 19u, 20u})
    EXPECT_EQ(parse(make_xclbin({.sections = {{14, "", "{}"}, {kind, "", "D"}}})).format, Format::kXclbin) << kind;
  for (const std::vector<XclbinSection>& sections :
       {std::vector<XclbinSection>{{14, "metadata", "{}"}}, {{0, "bitstream", ""}}})
    EXPECT_EQ(refusal(make_xclbin({.sections = sections})),
              "it has no design for the hardware (no section BITSTREAM, PDI or PARTITION_METADATA); link it for the "
              "target 'hw'");
}

TEST(Xclbin, ACutFileIsRefusedWhereverItIsCut) {
  const std::string file = make_xclbin({.sections = {{0, "bitstream", "D"}}});
  for (std::size_t size = 8; size < file.size(); ++size)
    EXPECT_THAT(refusal(file.substr(0, size)), HasSubstr("; copy it into the catalogue again")) << size;
  EXPECT_EQ(parse(file).data_size, file.size());
  EXPECT_EQ(parse(file + "more").data_size, file.size() + 4) << "bytes behind the design are allowed";
}

TEST(Xclbin, ItsLengthAndItsSignatureAreBounded) {
  const std::string file = make_xclbin();
  const std::string size = std::to_string(file.size());
  EXPECT_EQ(
      refusal(with(file, 304, std::uint64_t{0xffffffffffffffff})),
      "it has " + size + " of the 18446744073709551615 bytes that its header says; copy it into the catalogue again");
  EXPECT_EQ(
      refusal(with(file, 304, std::uint64_t{455})),
      "its header says that the file has 455 bytes, which is less than the header itself; build it again with v++, "
      "or xclbinutil");
  EXPECT_EQ(refusal(with(file, 8, std::uint32_t{0x80000000})),
            "its header says that the signature has -2147483648 bytes of " + size + "; sign it again with xclbinutil");
  EXPECT_THAT(refusal(with(file, 8, static_cast<std::uint32_t>(file.size() - 455))), HasSubstr("sign it again"));
  EXPECT_EQ(parse(make_xclbin({.signature = "SIGNED"})).format, Format::kXclbin);
  EXPECT_EQ(refusal(with(file, 8, std::uint32_t{1})),
            "section 1 (kind 14) lies outside the file; copy it into the catalogue again")
      << "no section may lie in the signature";
}

TEST(Xclbin, SectionsLieInsideTheFile) {
  const std::string file = make_xclbin();
  for (const auto& [offset, size] : {std::pair<std::uint64_t, std::uint64_t>(0, file.size() + 1),
                                     {file.size() + 1, 0},
                                     {0xffffffffffffffff, 2},
                                     {2, 0xffffffffffffffff},
                                     {0x8000000000000000, 0x8000000000000000}})
    EXPECT_EQ(refusal(with(with(file, 480, offset), 488, size)),
              "section 0 (kind 0) lies outside the file; copy it into the catalogue again")
        << offset;
}

TEST(Xclbin, TheNumberOfSectionsIsBounded) {
  const std::string file = make_xclbin();
  const std::string fit = std::to_string((file.size() - 456) / 40);
  for (const std::uint32_t count : {0u, 0x10001u, 0xffffffffu})
    EXPECT_EQ(refusal(with(file, 448, count)), "its header says that it has " + std::to_string(count) +
                                                   " sections, where 1 to " + fit +
                                                   " fit; build it again with v++, or xclbinutil");
  XclbinFile many;
  many.sections.assign(1000, {14, "metadata", ""});
  many.sections.push_back({0, "bitstream", "D"});
  EXPECT_EQ(parse(make_xclbin(many)).format, Format::kXclbin) << "a table is read in several pieces";
}

TEST(Xclbin, APlatformThatCannotBePrintedIsRefused) {
  EXPECT_EQ(
      refusal(make_xclbin({.vbnv = "xilinx\nshell"})),
      "the name of its platform (VBNV) has characters that cannot be printed: 'xilinx?shell'; build it again with "
      "v++, or xclbinutil");
  EXPECT_EQ(refusal("xclbin1" + make_xclbin().substr(7)),
            "it is an xclbin file of another version than 2; build it again with a v++ of 2018 or later");
}

TEST(RawBitstream, IsAnyOtherFile) {
  const Bitstream found = parse("\xff\xff\xff\xff");
  EXPECT_EQ(found.format, Format::kRaw);
  EXPECT_EQ(found.data_start, 0u);
  EXPECT_EQ(found.data_size, 4u);
  EXPECT_EQ(refusal(""), "the file is empty; copy it into the catalogue again");
  EXPECT_EQ(refusal(std::string("\x7f") + "ELF\x02"),
            "it is an ELF file, as Intel's OpenCL compiler writes (.aocx); extract the GBS file from it and use that");
}

std::string refusal_of_overlay(const std::string& overlay) {
  try {
    firmware_names(overlay);
  } catch (const cage::Error& error) {
    return error.what();
  }
  return "it was taken";
}

TEST(Overlay, NamesWhatTheKernelWouldProgram) {
  EXPECT_THAT(firmware_names(make_overlay({"one.bin"})), ElementsAre("one.bin"));
  EXPECT_THAT(firmware_names(make_overlay({"one.bin", std::string("two.bin\0three", 13)})),
              ElementsAre("one.bin", "two.bin", "three"));
  EXPECT_THAT(firmware_names(make_overlay({})), IsEmpty());
  EXPECT_EQ(refusal_of_overlay(make_overlay(std::vector<std::string>(17, "x"))),
            "it names more than 16 bitstreams; build an overlay for each");
}

TEST(Overlay, ABrokenTreeIsRefused) {
  const std::string whole = make_overlay({"one.bin"}),
                    text = "it is not a flattened device tree; build it with: dtc -@ -O dtb";
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_EQ(refusal_of_overlay(whole.substr(0, size)), text);
  for (const std::size_t number : {8u, 12u, 32u, 36u})
    EXPECT_EQ(refusal_of_overlay(with(whole, number, 0xffffffffu)), text) << number;
  std::string property = whole;
  const std::size_t size_at = whole.find(std::string("\0\0\0\x03\0\0\0\x0d", 8)) + 4;
  EXPECT_EQ(refusal_of_overlay(with(property, size_at, 0xfcffffffu)), text) << "a property of 4 GiB";
  EXPECT_EQ(refusal_of_overlay(with(property, size_at + 4, 0xffffffffu)), text) << "a name outside the strings";
  EXPECT_EQ(refusal_of_overlay(with(property, 56, 0x05000000u)), text) << "an unknown token";
}

}  // namespace
}  // namespace cardcage::fpga
