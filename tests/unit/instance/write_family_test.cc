#include "host/instance/host_families.h"

#include <gmock/gmock.h>

#include "host/instance/call_context.h"
#include "host/instance/host_services.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kFirstSize = offsetof(cage_ioctl, reserved) + sizeof(cage_ioctl::reserved);

cage_str lend(std::string_view text) { return {text.data(), text.size()}; }

class WriteFamilyTest : public ::testing::Test {
 protected:
  WriteFamilyTest() {
    given.struct_size = sizeof given;
    given.device_id = lend("gpu-0");
    given.data_path = lend("/etc/bits");
    given.data_sha256 = lend("4a");
    given.data_start = 128;
    given.flags = CAGE_IOCTL_EXCLUSIVE;
  }
  cage_status make() { return write_family()->ioctl(services.table(), context.table(), &given); }

  IoctlAsk seen;
  Asks asks{{.send =
                 [this](std::uint64_t number, std::uint64_t, ModuleAsk ask) {
                   seen = std::get<IoctlAsk>(std::move(ask));
                   asks.answer(number, AskReply(IoctlResult{}));
                 },
             .attend = {}}};
  HostServices services{"m", [] {}, asks};
  CallContext context{"prepare", 7, Instant::max()};
  cage_ioctl given{};
};

TEST_F(WriteFamilyTest, AllOfAnIoctlArrives) {
  ASSERT_EQ(make(), CAGE_OK) << context.explanation();
  EXPECT_EQ(seen.data_path, "/etc/bits");
  EXPECT_EQ(seen.data_sha256, "4a");
  EXPECT_EQ(seen.data_start, 128u);
  EXPECT_EQ(seen.flags, CAGE_IOCTL_EXCLUSIVE);
}

TEST_F(WriteFamilyTest, UnknownFlagsOfAnIoctlAreRefused) {
  given.flags |= 1u << 9;
  EXPECT_EQ(make(), CAGE_INVALID_ARGUMENT);
  EXPECT_THAT(context.explanation(), HasSubstr("cage_ioctl.flags 0x200 are unknown [R16]"));
}

TEST_F(WriteFamilyTest, AnIoctlShorterThanItsFirstVersionIsRefused) {
  given.struct_size = kFirstSize - 1;
  EXPECT_EQ(make(), CAGE_INVALID_ARGUMENT);
  EXPECT_THAT(context.explanation(), HasSubstr("struct_size of cage_ioctl is 111, expected at least 112"));
}

}  // namespace
}  // namespace cardcage
