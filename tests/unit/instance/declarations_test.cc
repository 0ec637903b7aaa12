#include "host/instance/declarations.h"
#include "host/instance/offered_family.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "tests/fakes/built_files.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class DeclarationsTest : public ::testing::Test {
 protected:
  DeclarationsTest() {
    table.id = CAGE_LIT("com.example.fpga");
    table.version = CAGE_LIT("1.4.0");
    table.vendor = CAGE_LIT("Example");
    table.options = options;
    table.option_count = 1;
    option.struct_size = sizeof option;
    option.type = CAGE_OPTION_INT;
    option.name = CAGE_LIT("replicas");
    option.default_text = CAGE_LIT("2");
    option.min = 1;
    option.max = 8;
  }
  std::string refusal() const {
    const auto identity = read_identity(table, "");
    return identity ? "was taken" : identity.error().message;
  }

  cage_option option{};
  const cage_option* options[2] = {&option, &option};
  cage_module table{};
};

TEST_F(DeclarationsTest, CopiesTheIdentity) {
  table.flags = CAGE_MODULE_CONCURRENT;
  table.abi_minor = CAGE_ABI_MINOR;
  const auto identity = read_identity(table, "abc");
  ASSERT_TRUE(identity) << identity.error().message;
  EXPECT_EQ(identity->vendor, "Example");
  EXPECT_EQ(identity->sha256, "abc");
  EXPECT_TRUE(identity->concurrent);
  ASSERT_THAT(identity->options, SizeIs(1));
  EXPECT_EQ(identity->options[0].max, 8);
}

TEST_F(DeclarationsTest, AModuleMayNeedNoPrepare) {
  EXPECT_FALSE(read_identity(table, "")->no_prepare);
  table.flags = CAGE_MODULE_NO_PREPARE;
  EXPECT_TRUE(read_identity(table, "")->no_prepare);
}

TEST_F(DeclarationsTest, AModuleMayNeedFamilies) {
  cage_str needs[] = {CAGE_LIT(CAGE_HOST_EXEC), CAGE_LIT(CAGE_EXT_RESET), CAGE_LIT(CAGE_EDITS_STATUS)};
  table.needs = needs;
  table.need_count = 3;
  EXPECT_EQ(refusal(), "was taken");
  needs[1] = CAGE_LIT("cage.teleport/1");
  EXPECT_EQ(refusal(),
            fmt::format("its table: it needs the family cage.teleport/1, which this host with module ABI {}.{} "
                        "lacks: upgrade Cardcage, or install an older build of the module [R5]",
                        CAGE_ABI_MAJOR, CAGE_ABI_MINOR));
  needs[1] = CAGE_LIT("two\nlines");
  EXPECT_THAT(refusal(), HasSubstr("entry of needs 'two?lines' is not the id of a family"));
  table.need_count = 33;
  EXPECT_EQ(refusal(), "its table: needs has 33 entries, at most 32 are allowed");
}

TEST_F(DeclarationsTest, AnOptionIsLiveOnlyIfTheModuleCanBeConfigured) {
  option.flags = CAGE_OPTION_LIVE;
  EXPECT_FALSE(read_identity(table, "")->options[0].live);
  table.extension = [](const char* id) -> const void* {
    static const cage_configure family{
        .struct_size = sizeof family,
        .configure = [](cage_instance*, const cage_call*, const cage_values*) -> cage_status { return CAGE_OK; }};
    return std::string_view(id) == CAGE_EXT_CONFIGURE ? &family : nullptr;
  };
  const auto identity = read_identity(table, "");
  EXPECT_TRUE(identity->has(Family::kConfigure));
  EXPECT_TRUE(identity->options[0].live);
}

TEST_F(DeclarationsTest, RefusesBadNames) {
  table.id = CAGE_LIT("FPGA");
  EXPECT_EQ(refusal(), "its table: id 'FPGA' is not a lower-case name such as com.example.fpga");
  table.id = CAGE_LIT("fpga");
  table.version = CAGE_LIT("1.4");
  EXPECT_EQ(refusal(), "its table: version '1.4' is not a semantic version such as 1.4.0");
  table.version = {nullptr, 0};
  EXPECT_THAT(refusal(), HasSubstr("version '' is not"));
}

TEST_F(DeclarationsTest, RefusesDeclarationsThatMakeNoSense) {
  const cage_option good = option;
  option.type = 77;
  EXPECT_EQ(refusal(), "its table: entry 0 of options: 'replicas' has the unknown type 77 [R16]");
  option = good;
  option.flags = 1u << 9;
  EXPECT_EQ(refusal(), "its table: entry 0 of options: 'replicas' has the unknown flags 0x200 [R16]");
  option = good;
  option.default_text = CAGE_LIT("9");
  EXPECT_EQ(refusal(), "its table: entry 0 of options: 'replicas': its default: is 9, expected 1 to 8");
  option.default_text = CAGE_LIT("two");
  EXPECT_EQ(refusal(),
            "its table: entry 0 of options: 'replicas': its default: 'two' is not a value; write it as in TOML");
  option = good;
  option.flags = CAGE_OPTION_REQUIRED;
  EXPECT_EQ(refusal(), "its table: entry 0 of options: 'replicas': it is required and has a default: drop one of them");
  option = good;
  option.min = 9;
  EXPECT_EQ(refusal(), "its table: entry 0 of options: 'replicas': min 9 is above max 8");
  const cage_str choices[] = {CAGE_LIT("1")};
  option = good;
  option.choices = choices;
  option.choice_count = 1;
  EXPECT_EQ(refusal(), "its table: entry 0 of options: 'replicas': choices are for strings and lists");
  option = good;
  option.help = CAGE_LIT("two\nlines");
  EXPECT_THAT(refusal(), HasSubstr("help 'two?lines' is not one line of UTF-8"));
  option = good;
  option.struct_size = 4;
  EXPECT_THAT(refusal(), HasSubstr("struct_size of cage_option is 4"));
}

TEST_F(DeclarationsTest, RefusesBrokenLists) {
  table.option_count = 2;
  EXPECT_EQ(refusal(), "its table: options has 'replicas' twice");
  options[1] = nullptr;
  EXPECT_EQ(refusal(), "its table: entry 1 of options: cage_option is NULL");
  table.options = nullptr;
  EXPECT_EQ(refusal(), "its table: options has 2 entries and no data");
  table.option_count = 1u << 30;
  table.options = options;
  EXPECT_THAT(refusal(), HasSubstr("at most 128 are allowed"));
}

TEST_F(DeclarationsTest, AThrowingExtensionCountsAsNone) {
  table.extension = [](const char*) -> const void* { throw std::runtime_error("no"); };
  EXPECT_EQ(family_of<cage_reconcile>(table), nullptr);
  EXPECT_EQ(refusal(), "was taken");
}

TEST_F(DeclarationsTest, AFamilyCountsOnlyWithItsFunction) {
  EXPECT_EQ(family_of<cage_preferred>(table), nullptr);
  table.extension = [](const char* id) -> const void* {
    static const cage_preferred without_function{.struct_size = sizeof without_function};
    static const cage_pre_start cut_off{
        .struct_size = 8,
        .pre_start = [](cage_instance*, const cage_call*, const cage_claim*) -> cage_status { return CAGE_OK; }};
    static const cage_reconcile whole{.struct_size = sizeof whole,
                                      .keep = [](cage_instance*, const cage_call*, const cage_claim* const*,
                                                 std::uint32_t) -> cage_status { return CAGE_OK; }};
    const std::string_view name = id;
    if (name == CAGE_EXT_PREFERRED) return &without_function;
    if (name == CAGE_EXT_PRE_START) return &cut_off;
    return name == CAGE_EXT_RECONCILE ? &whole : nullptr;
  };
  const auto identity = read_identity(table, "");
  ASSERT_TRUE(identity) << identity.error().message;
  EXPECT_FALSE(identity->has(Family::kPreferred));
  EXPECT_FALSE(identity->has(Family::kPreStart));
  EXPECT_TRUE(identity->has(Family::kReconcile));
}

TEST(LoadIdentifiedTest, RefusesAFamilyThatLiesInAnotherObject) {
  auto staged = stage({test_modules()}, "foreign_family.so", "");
  ASSERT_TRUE(staged) << staged.error().message;
  const auto loaded = load_identified("fpga", std::move(*staged));
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("its keep must lie in the file"));
}

}  // namespace
}  // namespace cardcage
