#include "host/access/write_rules.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

using ::testing::HasSubstr;

template <class Ask>
std::string refusal(const Ask& ask) {
  const Status checked = check(ask);
  return checked ? "" : checked.error().message;
}

TEST(WriteRulesTest, AStarMatchesNoSlashAndDotsMatchNothing) {
  const std::string pattern = "/sys/bus/pci/devices/*/reset";
  EXPECT_TRUE(matches_path(pattern, "/sys/bus/pci/devices/0000:3b:00.0/reset"));
  EXPECT_FALSE(matches_path(pattern, "/sys/bus/pci/devices/0000:3b:00.0/driver/reset"));
  EXPECT_FALSE(matches_path(pattern, "/sys/bus/pci/devices/../reset"));
  EXPECT_FALSE(matches_path(pattern, "/sys/bus/pci/devices//reset"));
  EXPECT_TRUE(matches_path("/dev/xclmgmt[0-9]*", "/dev/xclmgmt256"));
  EXPECT_FALSE(matches_path("/dev/xclmgmt[0-9]*", "/dev/mem"));
}

TEST(WriteRulesTest, WhatAWorkerSendsIsBounded) {
  EXPECT_EQ(refusal(FileWriteAsk("gpu-0", "/sys/x", std::string(kMaxWrite, 'x'))), "");
  EXPECT_THAT(refusal(FileWriteAsk("gpu-0", "/sys/x", std::string(kMaxWrite + 1, 'x'))),
              HasSubstr("the data has 4097 bytes, at most 4096 are allowed"));
  EXPECT_THAT(refusal(FileWriteAsk("", "/sys/x", "1")), HasSubstr("device_id '' is not that of a device"));
  EXPECT_THAT(refusal(FileWriteAsk("gpu 0\n", "/sys/x", "1")), HasSubstr("device_id 'gpu 0?'"));
  EXPECT_THAT(refusal(FileWriteAsk("gpu-0", "sys/x", "1")), HasSubstr("'sys/x' is not an absolute path"));
  EXPECT_THAT(refusal(FileWriteAsk("gpu-0", std::string("/sys/x\0y", 8), "1")), HasSubstr("'/sys/x?y' is not"));
  EXPECT_THAT(refusal(IoctlAsk("gpu-0", "/dev/x", 1, std::string(kMaxWrite + 1, 'x'))),
              HasSubstr("the argument has 4097 bytes"));
}

TEST(WriteRulesTest, AnAddressFitsIntoTheArgument) {
  const auto with = [](std::size_t size, std::uint32_t offset) {
    return refusal(IoctlAsk("gpu-0", "/dev/x", 1, std::string(size, 'x'), "/lib/bits", offset));
  };
  EXPECT_EQ(with(8, 0), "");
  EXPECT_EQ(with(24, 16), "");
  EXPECT_THAT(with(7, 0), HasSubstr("an address at data_offset 0 does not fit into an argument of 7 bytes"));
  EXPECT_THAT(with(24, 17), HasSubstr("data_offset 17"));
  EXPECT_THAT(with(24, 0xffffffff), HasSubstr("data_offset 4294967295"));
}

TEST(WriteRulesTest, ASha256AndAStartAreOfAFile) {
  IoctlAsk ask("gpu-0", "/dev/x", 1, std::string(8, 'x'), "/lib/bits");
  ask.data_start = 128;
  ask.data_sha256 = std::string(64, 'a');
  EXPECT_EQ(refusal(ask), "");
  for (const std::string& wrong :
       {std::string(63, 'a'), std::string(65, 'a'), std::string(64, 'A'), std::string(64, 'g')}) {
    ask.data_sha256 = wrong;
    EXPECT_THAT(refusal(ask), HasSubstr("data_sha256 '" + wrong + "' is not a SHA-256"));
  }
  ask.data_path = "";
  EXPECT_THAT(refusal(ask), HasSubstr("data_path is empty"));
  ask.data_sha256 = "";
  EXPECT_THAT(refusal(ask), HasSubstr("data_path is empty"));
}

TEST(WriteRulesTest, FlagsOfALaterVersionAreRefused) {
  IoctlAsk ask("gpu-0", "/dev/x", 1);
  ask.flags = 1;
  EXPECT_EQ(refusal(ask), "");
  ask.flags = 3;
  EXPECT_THAT(refusal(ask), HasSubstr("flags 0x2 are unknown [R16]"));
}

TEST(WriteRulesTest, ADriverIsANameAndAFunctionAnAddress) {
  EXPECT_EQ(refusal(DriverAsk("gpu-0", "0000:3b:00.0", "vfio-pci")), "");
  EXPECT_EQ(refusal(DriverAsk("gpu-0", "0000:3b:00.0", "")), "");
  EXPECT_THAT(refusal(DriverAsk("gpu-0", "../3b:00.0", "vfio-pci")), HasSubstr("is not a PCI address such as"));
  for (const char* name : {"../x", "a b", "vfio\n", "."}) EXPECT_NE(refusal(DriverAsk("g", "0000:3b:00.0", name)), "");
}

}  // namespace
}  // namespace cardcage
