// Tables of ABI 0.3 as tables of 1.0, and the refusal of older ones.
#include <gmock/gmock.h>

#include "host/loader/loader.h"
#include "tests/fakes/built_files.h"
#include "tests/modules/base.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;

class Table03Test : public ::testing::Test {
 protected:
  Table03Test() {
    mode.struct_size = sizeof mode;
    mode.type = CAGE_OPTION_STRING;
    mode.flags = CAGE_OPTION_LIVE | CAGE_OPTION_SECRET;
    mode.name = CAGE_LIT("mode");
    table.magic = CAGE_MAGIC;
    table.struct_size = sizeof table;
    table.abi_minor = 3;
    table.min_host_minor = 3;
    table.flags = CAGE_MODULE_CONCURRENT;
    table.state_version = 7;
    table.id = CAGE_LIT("old.card");
    table.claim_call_limit_s = 600;
    table.create = base_create;
    table.destroy = base_destroy;
  }
  std::string refusal() const {
    const auto translated = translate_table(&table);
    return translated ? "was taken" : translated.error().message;
  }

  cage_option mode{};
  const cage_option* params[1] = {&mode};
  Table03 table{};
};

TEST_F(Table03Test, HasTheMembersOfTheNewOne) {
  const auto translated = translate_table(&table);
  ASSERT_TRUE(translated) << translated.error().message;
  const cage_module& now = (*translated)->table;
  EXPECT_EQ(now.struct_size, sizeof(cage_module));
  EXPECT_EQ(now.min_host_minor, 0u) << "its minor is one of major 0";
  EXPECT_EQ(now.flags, table.flags);
  EXPECT_EQ(now.state_version, 7u);
  EXPECT_EQ(now.claim_call_limit_s, 600u);
  EXPECT_EQ(now.create, table.create);
  EXPECT_EQ(now.destroy, table.destroy);
  EXPECT_EQ(now.schema_count, 0u);
  EXPECT_EQ(now.need_count, 0u);
}

TEST_F(Table03Test, ParamsAreASchema) {
  table.params = params;
  table.param_count = 1;
  const auto translated = translate_table(&table);
  ASSERT_TRUE(translated) << translated.error().message;
  const cage_module& now = (*translated)->table;
  ASSERT_EQ(now.schema_count, 1u);
  EXPECT_EQ(now.schemas[0]->kind.size, 0u);
  EXPECT_EQ(now.schemas[0]->flags, 0u);
  ASSERT_EQ(now.schemas[0]->field_count, 1u);
  EXPECT_EQ(now.schemas[0]->fields[0]->flags, std::uint32_t{CAGE_OPTION_SECRET}) << "LIVE had no meaning here";
}

TEST_F(Table03Test, ParamsWithoutFieldsAreReadByTheModule) {
  table.params_kind = CAGE_LIT("CardConfig");
  const auto translated = translate_table(&table);
  ASSERT_TRUE(translated) << translated.error().message;
  EXPECT_EQ((*translated)->table.schemas[0]->flags, std::uint32_t{CAGE_SCHEMA_RAW});
}

TEST_F(Table03Test, RefusesWhatContradictsItself) {
  table.param_count = 1;
  EXPECT_EQ(refusal(), "its table: params has 1 entries and no data");
  table.params = params;
  mode.struct_size = 8;
  EXPECT_EQ(refusal(), "its table: entry 0 of params is not a cage_option");
  table.schema_count = 1;
  EXPECT_THAT(refusal(), HasSubstr("has both params and schemas"));
  table.struct_size = 64;
  EXPECT_EQ(refusal(), "its table says struct_size 64, and that of module ABI 0.3 has at least 232 bytes");
  table.min_host_minor = 4;
  EXPECT_EQ(refusal(), "its table says min_host_minor 4, and 0.3 was the last minor of major 0");
  table.magic = 7;
  EXPECT_EQ(refusal(), "its table begins with 0x00000007 and not with CAGE_MAGIC");
  EXPECT_THAT(translate_table(nullptr).error().message, HasSubstr("returned no table"));
}

TEST_F(Table03Test, TheDraftsBeforeItAreRefused) {
  table.abi_minor = 2;
  table.struct_size = 64;
  EXPECT_EQ(
      refusal(),
      "it is built for module ABI 0.2, which was a draft, and this host has 1.0: rebuild it with the headers of 1.0");
}

}  // namespace
}  // namespace cardcage
