// Every tests/golden/config/NAME.toml has errors; NAME.errors holds the messages for the operator.
// CARDCAGE_UPDATE_GOLDEN=1 rewrites the messages.
#include <gmock/gmock.h>

#include <cstdlib>

#include "host/config/config.h"
#include "host/core/file.h"
#include "tests/fakes/source_folder.h"

namespace cardcage {
namespace {

const std::filesystem::path kFolder = source_folder() / "tests/golden/config";

std::optional<std::string> golden_environment(const std::string& name) {
  if (name == "NODE_NAME") return "node1";
  if (name == "UPPER") return "POD";
  return std::nullopt;
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().native());
  std::ranges::sort(names);
  return names;
}

class ConfigErrorTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ConfigErrorTest, ReadsLikeTheGoldenFile) {
  const std::string name = GetParam() + ".toml";
  const auto text = read_file(kFolder / name, 100'000);
  ASSERT_TRUE(text) << text.error().message;
  const auto config = parse_config(*text, name, golden_environment);
  ASSERT_FALSE(config) << "accepted";
  const auto golden = kFolder / (GetParam() + ".errors");
  if (std::getenv("CARDCAGE_UPDATE_GOLDEN")) {
    ASSERT_TRUE(write_file_atomically(golden, config.error().to_string(), 0644));
  }
  EXPECT_EQ(config.error().to_string(), read_file(golden, 100'000).value_or("(no golden file)"));
}

INSTANTIATE_TEST_SUITE_P(Golden, ConfigErrorTest, ::testing::ValuesIn(cases()),
                         [](const auto& about) { return about.param; });

TEST(ConfigErrorsTest, AMissingFileIsAnErrorWithoutALine) {
  const auto config = load_config("/nonexistent/cardcage.toml");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().to_string(),
            "/nonexistent/cardcage.toml: cannot open '/nonexistent/cardcage.toml': No such file or directory\n");
}

TEST(ConfigErrorsTest, AFolderIsNotAFile) {
  const auto config = load_config("/");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().to_string(), "/: '/' is not a regular file\n");
}

TEST(ConfigErrorsTest, KeysNestedTooDeeplyAreRefusedBeforeTheyAreParsed) {
  std::string text = "[node]\n";
  for (int i = 0; i < 300'000; ++i) text += "a.";
  const auto config = parse_config(text + "a = 1", "deep.toml", golden_environment);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().to_string(), "deep.toml:2:20002: more than 10000 dots in one file\n");
}

std::string utf8(char32_t c) {
  const auto byte = [](char32_t bits) { return static_cast<char>(bits); };
  if (c < 0x800) return {byte(0xc0 | c >> 6), byte(0x80 | (c & 63))};
  return {byte(0xe0 | c >> 12), byte(0x80 | (c >> 6 & 63)), byte(0x80 | (c & 63))};
}

// Mistakes of toml++ that cmake/archives/toml.cc fixes.
TEST(ConfigErrorsTest, UnexpectedCharactersAreErrorsAndNeverCrash) {
  for (char32_t c = 0x80; c < 0xd800; c += 61)
    for (const std::string& text : {utf8(c) + " = 1", "a = " + utf8(c), "[a" + utf8(c) + "]", "a " + utf8(c) + "= 1"})
      EXPECT_FALSE(parse_config(text, "c.toml", golden_environment)) << text;
  EXPECT_FALSE(parse_config("[# no name", "c.toml", golden_environment));
}

TEST(ConfigErrorsTest, ALongValueIsCutInTheMessage) {
  const auto config =
      parse_config("[node]\nname = \"" + std::string(100'000, 'x') + "\"", "long.toml", golden_environment);
  ASSERT_FALSE(config);
  ASSERT_EQ(config.error().entries.size(), 1u);
  EXPECT_LT(config.error().entries[0].message.size(), 1000u);
}

}  // namespace
}  // namespace cardcage
