#include "host/events/kernel_record.h"

#include <gtest/gtest.h>

namespace cardcage {
namespace {

using std::chrono::microseconds;
using namespace std::string_view_literals;

std::string text_of(std::string_view record) {
  const auto message = read_kernel_record(record);
  return message ? message->text : "no record";
}

// The examples of Documentation/ABI/testing/dev-kmsg.
TEST(KernelRecordTest, ReadsTheLinesOfTheKernelsDocumentation) {
  EXPECT_EQ(read_kernel_record("7,160,424069,-;pci_root PNP0A03:00: host bridge window [io  0x0000-0x0cf7] (ignored)\n"
                               " SUBSYSTEM=acpi\n"
                               " DEVICE=+acpi:PNP0A03:00\n"),
            (KernelMessage{Instant(microseconds(424069)),
                           "pci_root PNP0A03:00: host bridge window [io  0x0000-0x0cf7] (ignored)"}));
  EXPECT_EQ(read_kernel_record("6,339,5140900,-;NET: Registered protocol family 10\n"),
            (KernelMessage{Instant(microseconds(5140900)), "NET: Registered protocol family 10"}));
  EXPECT_EQ(read_kernel_record("30,340,5690716,-;udevd[80]: starting version 181\n"),
            (KernelMessage{Instant(microseconds(5690716)), "udevd[80]: starting version 181"}));
}

TEST(KernelRecordTest, IgnoresFieldsThatLaterKernelsAdd) {
  EXPECT_EQ(text_of("6,339,5140900,-,caller=T1,new=1;usb 1-1: x,y;z\n"), "usb 1-1: x,y;z");
  EXPECT_EQ(text_of("4,1,0,c;a fragment without its end"), "a fragment without its end");
}

TEST(KernelRecordTest, UnescapesBytes) {
  EXPECT_EQ(text_of("6,1,1,-;C:\\x5ctemp \\xc3\\xa4 tab\\x09end\n"), "C:\\temp ä tab\tend");
  EXPECT_EQ(text_of("6,1,1,-;\\x \\x5 \\xzz \\x4"), "\\x \\x5 \\xzz \\x4");
  EXPECT_EQ(text_of("6,1,1,-;\\xff\n"), "?") << "modules get UTF-8";
}

TEST(KernelRecordTest, RefusesWhatIsNoRecord) {
  for (const std::string_view record : {""sv, "no prefix"sv, ";"sv, "6,1;x"sv, "6,1,-1,-;x"sv, "a,1,1,-;x"sv,
                                        "6,1,99999999999999999999,-;x"sv, "6,1,9999999999999999999,-;x"sv})
    EXPECT_FALSE(read_kernel_record(record)) << record;
  EXPECT_EQ(text_of("6,1,1,-;"), "");
}

TEST(UeventTest, BecomesLines) {
  const Instant now{microseconds(5)};
  EXPECT_EQ(
      read_uevent("change@/devices/pci0000:00/0000:00:01.0\0ACTION=change\0DEVPATH=/devices/pci0000:00/0000:00:01.0\0"
                  "SUBSYSTEM=pci\0SEQNUM=5\0"sv,
                  now),
      (Uevent{now, "pci", "ACTION=change\nDEVPATH=/devices/pci0000:00/0000:00:01.0\nSUBSYSTEM=pci\nSEQNUM=5\n"}));
}

TEST(UeventTest, AValueCannotPassForALine) {
  EXPECT_EQ(read_uevent("add@/x\0ACTION=add\0NAME=a\nSUBSYSTEM=pci\0SUBSYSTEM=net"sv, {})->text,
            "ACTION=add\nNAME=a?SUBSYSTEM=pci\nSUBSYSTEM=net\n");
}

TEST(UeventTest, RefusesWhatIsNoUevent) {
  EXPECT_FALSE(read_uevent("", {}));
  EXPECT_FALSE(read_uevent("libudev\0\xfe\xed\xca\xfe"sv, {})) << "sent by udevd";
  EXPECT_EQ(read_uevent("add@/x"sv, {})->text, "");
}

}  // namespace
}  // namespace cardcage
