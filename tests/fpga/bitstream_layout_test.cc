// Checks the bytes of generated files against the documents of the formats, so that the generators and the parsers do
// not share a mistake: opae/bitstream.h of the OPAE SDK, struct axlf of XRT's xclbin.h, chapter 5 of the devicetree
// specification.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/fpga/bitstream_files.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;

std::string at(const std::string& bytes, std::size_t offset, std::size_t size) { return bytes.substr(offset, size); }
std::string literal(std::string_view text) { return std::string(text); }

TEST(BitstreamLayout, GbsBeginsWithItsGuidAndTheLengthOfTheMetadata) {
  const std::string file = make_gbs({.data = "DATA", .metadata = R"({"a":1})"});
  EXPECT_EQ(at(file, 0, 8), "\x58\x65\x6f\x6e\x46\x50\x47\x41");
  EXPECT_EQ(at(file, 8, 8), "\xb7\x47\x42\x53\x76\x30\x30\x31");
  EXPECT_EQ(at(file, 16, 4), literal({"\x07\x00\x00\x00", 4}));
  EXPECT_EQ(at(file, 20, 7), R"({"a":1})");
  EXPECT_EQ(file.substr(27), "DATA");
}

TEST(BitstreamLayout, GbsHasTheMetadataOfThePackager) {
  const std::string file = make_gbs({.clock_high = "312", .clock_low = "156"});
  for (const char* member :
       {R"("version": 1)", R"("platform-name": "DCP_1_0")", R"("afu-image": {)", R"("magic-no": 488605312)",
        R"("interface-uuid": "69528db6-eb31-577a-8c36-68f9faa081f6")", R"("power": 20)",
        R"("clock-frequency-high": 312)", R"("clock-frequency-low": 156)", R"("accelerator-clusters": [{)",
        R"("accelerator-type-uuid": "d8424dc4-a4a3-c413-f89e-433683f9040b")"})
    EXPECT_THAT(file, HasSubstr(member));
}

TEST(BitstreamLayout, LegacyGbsHasTheIdOfTheInterfaceBackwards) {
  const std::string file = make_legacy_gbs("00112233-4455-6677-8899-aabbccddeeff", "DATA");
  EXPECT_EQ(at(file, 0, 4), "\x80\x86\x1f\x1d");
  EXPECT_EQ(at(file, 4, 16), literal({"\xff\xee\xdd\xcc\xbb\xaa\x99\x88\x77\x66\x55\x44\x33\x22\x11\x00", 16}));
  EXPECT_EQ(file.substr(20), "DATA");
}

TEST(BitstreamLayout, XclbinHasItsFieldsWhereXrtReadsThem) {
  const std::string file = make_xclbin({.interface_uuid = "00112233445566778899aabbccddeeff",
                                        .design_uuid = "ffeeddcc-bbaa-9988-7766-554433221100",
                                        .vbnv = "shell",
                                        .sections = {{0, "bits", "BITS"}, {6, "mem", "MEMORY"}}});
  ASSERT_EQ(file.size(), 456u + 2 * 40 + 4 + 6);
  EXPECT_EQ(at(file, 0, 8), literal({"xclbin2\0", 8}));
  EXPECT_EQ(at(file, 8, 4), "\xff\xff\xff\xff") << "the length is -1 without a signature";
  EXPECT_EQ(at(file, 304, 8), literal({"\x22\x02\0\0\0\0\0\0", 8})) << "546 bytes";
  EXPECT_EQ(at(file, 336, 16), literal({"\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff", 16}));
  EXPECT_EQ(at(file, 352, 6), literal({"shell\0", 6}));
  EXPECT_EQ(at(file, 416, 16), literal({"\xff\xee\xdd\xcc\xbb\xaa\x99\x88\x77\x66\x55\x44\x33\x22\x11\x00", 16}));
  EXPECT_EQ(at(file, 448, 4), literal({"\x02\0\0\0", 4}));
  EXPECT_EQ(at(file, 456, 4), literal({"\0\0\0\0", 4}));
  EXPECT_EQ(at(file, 460, 5), literal({"bits\0", 5}));
  EXPECT_EQ(at(file, 480, 16), literal({"\x18\x02\0\0\0\0\0\0\x04\0\0\0\0\0\0\0", 16})) << "4 bytes at 536";
  EXPECT_EQ(at(file, 496, 4), literal({"\x06\0\0\0", 4}));
  EXPECT_EQ(at(file, 520, 16), literal({"\x1c\x02\0\0\0\0\0\0\x06\0\0\0\0\0\0\0", 16})) << "6 bytes at 540";
  EXPECT_EQ(file.substr(536), "BITSMEMORY");
}

TEST(BitstreamLayout, ASignatureFollowsTheSectionsAndCountsInTheLength) {
  const std::string file = make_xclbin({.sections = {{0, "bits", "BITS"}}, .signature = "SIGNED"});
  ASSERT_EQ(file.size(), 456u + 40 + 4 + 6);
  EXPECT_EQ(at(file, 8, 4), literal({"\x06\0\0\0", 4}));
  EXPECT_EQ(at(file, 304, 8), literal({"\xfa\x01\0\0\0\0\0\0", 8})) << "506 bytes";
  EXPECT_EQ(file.substr(500), "SIGNED");
}

TEST(BitstreamLayout, AnOverlayIsAFlattenedDeviceTree) {
  const std::string file = make_overlay({"x.bin"});
  EXPECT_EQ(at(file, 0, 4), "\xd0\x0d\xfe\xed");
  EXPECT_EQ(at(file, 8, 4), literal({"\0\0\0\x38", 4})) << "the tree begins at 56";
  EXPECT_EQ(at(file, 20, 4), literal({"\0\0\0\x11", 4})) << "version 17";
  EXPECT_EQ(at(file, 56, 8), literal({"\0\0\0\1\0\0\0\0", 8})) << "the root has no name";
  EXPECT_THAT(file, HasSubstr(literal({"\0\0\0\3\0\0\0\6\0\0\0\x0cx.bin\0\0\0", 20}))) << "6 bytes, name at 12";
  EXPECT_EQ(file.substr(file.size() - 26), literal({"target-path\0firmware-name\0", 26}));
}

}  // namespace
}  // namespace cardcage
