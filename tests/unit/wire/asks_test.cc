#include "host/wire/asks.h"

#include <gmock/gmock.h>

#include "tests/unit/wire/bytes.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;

TEST(AsksOnTheWireTest, AJournalAndItsAnswer) {
  wire::Ask message;
  write(JournalAsk(kBytes), 3, 7, message);
  EXPECT_EQ(message.number(), 3u);
  EXPECT_EQ(message.call(), 7u);
  EXPECT_EQ(std::get<JournalAsk>(*read(message)).bytes, kBytes);
  wire::Told told;
  write(AskReply(), 3, told);
  EXPECT_EQ(told.number(), 3u);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(*read(told)));
}

TEST(AsksOnTheWireTest, AProgramAndItsResult) {
  wire::Ask message;
  write(ExecAsk("tool", {"-q", ""}, {"A=b"}, std::chrono::milliseconds(1500), "in"), 3, 7, message);
  const auto ask = std::get<ExecAsk>(*read(message));
  EXPECT_EQ(ask.input, "in");
  EXPECT_EQ(ask.program, "tool");
  EXPECT_THAT(ask.arguments, ElementsAre("-q", ""));
  EXPECT_THAT(ask.environment, ElementsAre("A=b"));
  EXPECT_EQ(ask.limit, std::chrono::milliseconds(1500));
  wire::Told told;
  write(AskReply(ExecResult{-1, 9, true, true, kBytes, "err"}), 3, told);
  const auto result = std::get<ExecResult>(*read(told));
  EXPECT_EQ(result.exit_status, -1);
  EXPECT_EQ(result.signal, 9);
  EXPECT_TRUE(result.timed_out && result.cut);
  EXPECT_EQ(result.out, kBytes);
  EXPECT_EQ(result.err, "err");
}

TEST(AsksOnTheWireTest, WritesAndTheArgumentOfAnIoctl) {
  wire::Ask message;
  write(FileWriteAsk("gpu-0", "/sys/x/reset", kBytes, std::chrono::milliseconds(1500)), 3, 7, message);
  const auto file = std::get<FileWriteAsk>(*read(message));
  EXPECT_THAT((std::vector{file.device_id, file.path, file.data}), ElementsAre("gpu-0", "/sys/x/reset", kBytes));
  EXPECT_EQ(file.limit, std::chrono::milliseconds(1500));
  write(
      IoctlAsk("gpu-0", "/dev/card", 0xc0104301, kBytes, "/lib/bits", 8, std::chrono::milliseconds(7), "4a5e", 128, 1),
      3, 7, message);
  const auto ioctl = std::get<IoctlAsk>(*read(message));
  EXPECT_THAT((std::vector{ioctl.device_id, ioctl.path, ioctl.argument, ioctl.data_path}),
              ElementsAre("gpu-0", "/dev/card", kBytes, "/lib/bits"));
  EXPECT_EQ(ioctl.request, 0xc0104301u);
  EXPECT_EQ(ioctl.data_offset, 8u);
  EXPECT_EQ(ioctl.limit, std::chrono::milliseconds(7));
  EXPECT_EQ(ioctl.data_sha256, "4a5e");
  EXPECT_EQ(ioctl.data_start, 128u);
  EXPECT_EQ(ioctl.flags, 1u);
  write(DriverAsk("gpu-0", "0000:3b:00.0", "vfio-pci"), 3, 7, message);
  const auto driver = std::get<DriverAsk>(*read(message));
  EXPECT_THAT((std::vector{driver.device_id, driver.pci_bus_id, driver.driver}),
              ElementsAre("gpu-0", "0000:3b:00.0", "vfio-pci"));
  wire::Told told;
  write(AskReply(IoctlResult{kBytes}), 3, told);
  EXPECT_EQ(std::get<IoctlResult>(*read(told)).argument, kBytes);
}

TEST(AsksOnTheWireTest, AnErrorKeepsItsCodeAndText) {
  wire::Told told;
  write(fail(Code::kResourceExhausted, "full"), 3, told);
  const auto reply = read(told);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Code::kResourceExhausted);
  EXPECT_EQ(reply.error().message, "full");
}

TEST(AsksOnTheWireTest, AWorkerMayAskForNothingOrForTooMuchTime) {
  wire::Ask message;
  EXPECT_FALSE(read(message));
  message.mutable_exec()->set_limit_ms(-5);
  EXPECT_EQ(std::get<ExecAsk>(*read(message)).limit, std::chrono::milliseconds(0));
  message.mutable_exec()->set_limit_ms(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(std::get<ExecAsk>(*read(message)).limit, std::chrono::hours(24));
}

}  // namespace
}  // namespace cardcage
