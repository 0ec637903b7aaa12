// docs/operator.md documents every key and quotes errors as they are printed.
#include <gmock/gmock.h>

#include <regex>
#include <set>

#include "host/config/config.h"
#include "host/core/file.h"
#include "tests/fakes/source_folder.h"
#include "tests/unit/config/shipped_files.h"

namespace cardcage {
namespace {

using ::testing::IsEmpty;

TEST(OperatorDocTest, ItsTablesHaveEveryKeyAndNoOther) {
  const std::string doc = read_file(kSource / "docs/operator.md", 1'000'000).value();
  std::set<std::string> keys, rows;
  std::string sections;
  for (const std::string& key : known_config_keys()) {
    if (key.contains('.')) {
      keys.insert(key);
      continue;
    }
    sections += (sections.empty() ? "" : "|") + key;
    EXPECT_NE(doc.find("[" + key + "]"), std::string::npos) << "no section on [" << key << "]";
  }
  const std::regex row("\n\\| `((?:" + sections + ")\\.[a-z0-9_.]+)` \\|");
  for (std::sregex_iterator at(doc.begin(), doc.end(), row), end; at != end; ++at) rows.insert(at->str(1));
  EXPECT_THAT(without(keys, rows), IsEmpty()) << "have no row";
  EXPECT_THAT(without(rows, keys), IsEmpty()) << "are not keys";
}

TEST(OperatorDocTest, ItsHealthRulesAreValidTogether) {
  const std::string doc = read_file(kSource / "docs/operator.md", 1'000'000).value();
  std::string text = "[node]\nname = \"n\"\n[[module]]\nname = \"m\"\npath = \"m.so\"\nserve = [{ driver = \"d\" }]\n";
  const std::string start = "```toml\n[[module.health]]\n";
  std::size_t rules = 0;
  for (auto at = doc.find(start); at != std::string::npos; at = doc.find(start, at + 1), ++rules)
    text += doc.substr(at + 8, doc.find("```", at + 8) - at - 8);
  const auto config = parse_config(text, "operator.md");
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(rules, 3u);
}

TEST(OperatorDocTest, TheSelectsItShowsAreValid) {
  const std::string doc = read_file(kSource / "docs/operator.md", 1'000'000).value();
  const std::string start = "```toml\nselect = ";
  std::size_t shown = 0;
  for (auto at = doc.find(start); at != std::string::npos; at = doc.find(start, at + 1), ++shown) {
    const std::string select = doc.substr(at + 8, doc.find("```", at + 8) - at - 8);
    const auto config = parse_config(
        "[node]\nname = \"n\"\n[[module]]\nname = \"m\"\npath = \"m.so\"\n[[module.serve]]\ndriver = \"d\"\n" + select,
        "operator.md");
    EXPECT_TRUE(config) << config.error().to_string() << select;
  }
  EXPECT_EQ(shown, 2u);
}

TEST(OperatorDocTest, TheErrorsItShowsAreReal) {
  const std::string doc = read_file(kSource / "docs/operator.md", 1'000'000).value();
  const std::string errors = read_file(kSource / "tests/golden/config/unknown_keys.errors", 100'000).value();
  EXPECT_NE(doc.find("```text\n" + errors + "```"), std::string::npos);
}

}  // namespace
}  // namespace cardcage
