#include "host/instance/declared_parts.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

using ::testing::HasSubstr;

class WatchDeclarationTest : public ::testing::Test {
 protected:
  WatchDeclarationTest() {
    family.struct_size = sizeof family;
    family.kernel_log = texts;
    family.kernel_log_count = 2;
    family.uevents = subsystems;
    family.uevent_count = 1;
  }
  std::string refusal() {
    const auto copied = copy_watch(family);
    return copied ? "accepted" : copied.error().message;
  }

  cage_str texts[33] = {CAGE_LIT("NVRM: Xid"), CAGE_LIT("mlx5_core ")};
  cage_str subsystems[1] = {CAGE_LIT("pci")};
  cage_watch family{};
};

TEST_F(WatchDeclarationTest, CopiesADeclaration) {
  const auto copied = copy_watch(family);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(*copied, (WatchDeclaration{{"NVRM: Xid", "mlx5_core "}, {"pci"}}));
}

TEST_F(WatchDeclarationTest, MayWaitForDescriptorsAlone) {
  family.kernel_log = family.uevents = nullptr;
  family.kernel_log_count = family.uevent_count = 0;
  EXPECT_EQ(refusal(), "accepted");
}

TEST_F(WatchDeclarationTest, RefusesTextsThatMatchEverythingOrNothing) {
  texts[1] = {nullptr, 0};
  EXPECT_EQ(refusal(), "entry 1 of kernel_log: text '' is not one line of UTF-8 of 1 to 128 bytes");
  texts[1] = CAGE_LIT("two\nlines");
  EXPECT_THAT(refusal(), HasSubstr("text 'two?lines' is not one line"));
  const std::string longest(128, 'a'), longer(129, 'a');
  texts[1] = {longest.data(), longest.size()};
  EXPECT_EQ(refusal(), "accepted");
  texts[1] = {longer.data(), longer.size()};
  EXPECT_THAT(refusal(), HasSubstr("1 to 128 bytes"));
  texts[1] = CAGE_LIT("NVRM: Xid");
  subsystems[0] = {nullptr, 3};
  EXPECT_EQ(refusal(), "entry 0 of uevents: text has 3 bytes and no data");
}

TEST_F(WatchDeclarationTest, RefusesTooManyAndMissingLists) {
  family.kernel_log_count = 33;
  EXPECT_EQ(refusal(), "kernel_log has 33 entries, at most 32 are allowed");
  family.kernel_log_count = 1;
  family.uevents = nullptr;
  EXPECT_EQ(refusal(), "uevents has 1 entries and no data");
}

}  // namespace
}  // namespace cardcage
