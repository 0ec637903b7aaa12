// Declared schemas of parameters, and the refusal of contradictory ones.
#include <gmock/gmock.h>

#include "host/instance/declared_parts.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class SchemasTest : public ::testing::Test {
 protected:
  SchemasTest() {
    for (cage_option* option : {&strategy, &limits}) option->struct_size = sizeof *option;
    strategy.type = CAGE_OPTION_STRING;
    strategy.name = CAGE_LIT("sharing.strategy");
    limits.type = CAGE_OPTION_MAP;
    limits.name = CAGE_LIT("sharing.limits");
    schema.struct_size = other.struct_size = sizeof schema;
    schema.api_version = other.api_version = CAGE_LIT("x/v1");
    schema.kind = CAGE_LIT("GpuConfig");
    schema.fields = fields;
    schema.field_count = 2;
    schema.device_kinds = kinds;
    schema.device_kind_count = 2;
    other.kind = CAGE_LIT("NicConfig");
    table.schemas = schemas;
    table.schema_count = 2;
  }
  std::string refusal() const {
    const auto copied = copy_schemas(table);
    return copied ? "was taken" : copied.error().message;
  }

  cage_option strategy{}, limits{};
  const cage_option* fields[2] = {&strategy, &limits};
  cage_str kinds[2] = {CAGE_LIT("gpu"), CAGE_LIT("mig")};
  cage_params_schema schema{}, other{};
  const cage_params_schema* schemas[2] = {&schema, &other};
  cage_module table{};
};

TEST_F(SchemasTest, AreCopied) {
  limits.flags = CAGE_OPTION_CLASS_ONLY | CAGE_OPTION_REQUIRED;
  const auto copied = copy_schemas(table);
  ASSERT_TRUE(copied) << copied.error().message;
  ASSERT_THAT(*copied, SizeIs(2));
  EXPECT_EQ((*copied)[0].api_version, "x/v1");
  EXPECT_THAT((*copied)[0].device_kinds, ElementsAre("gpu", "mig"));
  EXPECT_EQ((*copied)[0].fields[1].type, OptionType::kMap);
  EXPECT_TRUE((*copied)[0].fields[1].class_only);
  EXPECT_EQ((*copied)[1].kind, "NicConfig");
  EXPECT_FALSE((*copied)[1].raw) << "it has no fields, so parameters of it have none";
}

TEST_F(SchemasTest, SayThatAFieldIsAnAmountAndThatDocumentsCountAsAWhole) {
  schema.flags = CAGE_SCHEMA_WHOLE;
  limits.flags = CAGE_OPTION_QUANTITY;
  const auto copied = copy_schemas(table);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_TRUE((*copied)[0].whole);
  EXPECT_FALSE((*copied)[1].whole);
  EXPECT_TRUE((*copied)[0].fields[1].quantity);
  strategy.flags = CAGE_OPTION_QUANTITY;
  strategy.max = 8;
  EXPECT_THAT(refusal(), HasSubstr("CAGE_OPTION_QUANTITY is for maps, and for strings without choices and bounds"));
  strategy.flags = 0;
  strategy.max = 0;
  schema.flags = 8;
  EXPECT_THAT(refusal(), HasSubstr("has the unknown flags 0x8 [R16]"));
}

TEST_F(SchemasTest, SayThatItemsMayBeObjectsAndWhichKindIsTheDefault) {
  schema.flags = CAGE_SCHEMA_DEFAULT;
  strategy.type = CAGE_OPTION_LIST;
  strategy.flags = CAGE_OPTION_OBJECTS;
  strategy.default_text = {};
  const auto copied = copy_schemas(table);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_TRUE((*copied)[0].is_default);
  EXPECT_FALSE((*copied)[1].is_default);
  EXPECT_TRUE((*copied)[0].fields[0].objects);
  other.flags = CAGE_SCHEMA_DEFAULT;
  EXPECT_THAT(refusal(), HasSubstr("GpuConfig and NicConfig both have CAGE_SCHEMA_DEFAULT: drop one"));
  other.flags = 0;
  strategy.type = CAGE_OPTION_STRING;
  EXPECT_THAT(refusal(), HasSubstr("CAGE_OPTION_OBJECTS is for lists without choices"));
}

TEST_F(SchemasTest, AModuleMayReadTheTextItself) {
  other.flags = CAGE_SCHEMA_RAW;
  const auto copied = copy_schemas(table);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_TRUE((*copied)[1].raw);
  schema.flags = CAGE_SCHEMA_RAW;
  EXPECT_EQ(refusal(), "entry 0 of schemas: 'GpuConfig' has CAGE_SCHEMA_RAW and fields: drop one of them");
}

TEST_F(SchemasTest, TheOnlySchemaMayBeNameless) {
  schema.kind = schema.api_version = {};
  EXPECT_EQ(refusal(), "entry 0 of schemas: api_version '' is not one line of 1 to 128 bytes of UTF-8");
  table.schema_count = 1;
  const auto copied = copy_schemas(table);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ((*copied)[0].kind, "");
}

TEST_F(SchemasTest, NeedNamesOfTheirOwn) {
  other.kind = CAGE_LIT("GpuConfig");
  EXPECT_EQ(refusal(), "schemas has x/v1 GpuConfig twice");
  other.api_version = CAGE_LIT("x/v2");
  EXPECT_EQ(refusal(), "was taken");
  other.kind = {};
  EXPECT_EQ(refusal(), "entry 1 of schemas: kind '' is not one line of 1 to 128 bytes of UTF-8");
  other.api_version = CAGE_LIT("x\nv2");
  EXPECT_THAT(refusal(), HasSubstr("api_version 'x?v2' is not one line"));
}

TEST_F(SchemasTest, FieldsAreValuesOrObjects) {
  strategy.name = CAGE_LIT("sharing");
  EXPECT_EQ(
      refusal(),
      "entry 0 of schemas: 'GpuConfig': fields: 'sharing' is a value and, for 'sharing.limits', an object: rename "
      "one of them");
  strategy.name = CAGE_LIT("sharing.limits");
  EXPECT_EQ(refusal(), "entry 0 of schemas: 'GpuConfig': fields has 'sharing.limits' twice");
  strategy.name = CAGE_LIT("sharing.lim");
  EXPECT_EQ(refusal(), "was taken");
}

TEST_F(SchemasTest, FieldsHavePaths) {
  for (const char* bad : {"a..b", ".a", "a.", "a.9b", "a b", "a.b.c.d.e.f.g.h.i", ""}) {
    strategy.name = {bad, std::char_traits<char>::length(bad)};
    EXPECT_THAT(refusal(), HasSubstr("is not a letter followed by")) << bad;
  }
  strategy.name = CAGE_LIT("a.b.c.d.e.f.g.h");
  EXPECT_EQ(refusal(), "was taken");
  const std::string longest(64, 'x'), too_long(65, 'x');
  strategy.name = {longest.data(), longest.size()};
  EXPECT_EQ(refusal(), "was taken");
  strategy.name = {too_long.data(), too_long.size()};
  EXPECT_THAT(refusal(), HasSubstr("is not a letter followed by"));
  strategy.name = CAGE_LIT("kind.of");
  EXPECT_THAT(refusal(), HasSubstr("'kind.of': parameters name their schema by 'kind'"));
}

TEST_F(SchemasTest, FlagsAndTypesHaveAMeaning) {
  strategy.flags = CAGE_OPTION_LIVE;
  EXPECT_THAT(refusal(), HasSubstr("'sharing.strategy': CAGE_OPTION_LIVE is for options"));
  strategy.flags = 1u << 6;
  EXPECT_THAT(refusal(), HasSubstr("has the unknown flags 0x40 [R16]"));
  strategy.flags = 0;
  strategy.type = 7;
  EXPECT_THAT(refusal(), HasSubstr("has the unknown type 7 [R16]"));
  strategy.type = CAGE_OPTION_STRING;
  limits.default_text = CAGE_LIT("{\"a\": \"b\"}");
  EXPECT_THAT(refusal(), HasSubstr("its default: of an object is {} or empty"));
  limits.default_text = CAGE_LIT("{}");
  EXPECT_EQ(refusal(), "was taken");
  limits.choices = kinds;
  limits.choice_count = 1;
  EXPECT_THAT(refusal(), HasSubstr("choices are for strings and lists"));
}

TEST_F(SchemasTest, DeviceKindsAreWords) {
  kinds[1] = CAGE_LIT("gpu");
  EXPECT_EQ(refusal(), "entry 0 of schemas: 'GpuConfig': device_kinds has 'gpu' twice");
  kinds[1] = CAGE_LIT("GPU");
  EXPECT_THAT(refusal(), HasSubstr("device kind 'GPU' is not a word of lower-case letters"));
  schema.device_kinds = nullptr;
  EXPECT_THAT(refusal(), HasSubstr("device_kinds has 2 entries and no data"));
}

TEST_F(SchemasTest, BrokenListsAreRefused) {
  schemas[1] = nullptr;
  EXPECT_EQ(refusal(), "entry 1 of schemas: cage_params_schema is NULL");
  schemas[1] = &other;
  other.struct_size = 8;
  EXPECT_THAT(refusal(), HasSubstr("struct_size of cage_params_schema is 8"));
  table.schema_count = 1000;
  EXPECT_EQ(refusal(), "schemas has 1000 entries, at most 16 are allowed");
  table.schema_count = 1;
  schema.fields = nullptr;
  EXPECT_THAT(refusal(), HasSubstr("fields has 2 entries and no data"));
}

TEST_F(SchemasTest, OptionsHaveNeitherPathsNorMapsNorClasses) {
  table.options = fields;
  table.option_count = 1;
  const auto refused = [&] { return copy_options(table).error().message; };
  EXPECT_THAT(refused(), HasSubstr("name 'sharing.strategy' is not a letter followed by"));
  strategy.name = CAGE_LIT("strategy");
  strategy.type = CAGE_OPTION_MAP;
  EXPECT_EQ(refused(), "entry 0 of options: 'strategy': CAGE_OPTION_MAP is for parameters: declare a list of strings");
  strategy.type = CAGE_OPTION_STRING;
  strategy.flags = CAGE_OPTION_CLASS_ONLY;
  EXPECT_EQ(refused(), "entry 0 of options: 'strategy': CAGE_OPTION_CLASS_ONLY is for parameters: drop it");
  strategy.flags = CAGE_OPTION_QUANTITY;
  EXPECT_EQ(refused(), "entry 0 of options: 'strategy': CAGE_OPTION_QUANTITY is for parameters: drop it");
  strategy.type = CAGE_OPTION_LIST;
  strategy.flags = CAGE_OPTION_OBJECTS;
  const auto tables = copy_options(table);
  ASSERT_TRUE(tables) << tables.error().message;
  EXPECT_TRUE(tables->front().objects);
}

}  // namespace
}  // namespace cardcage
