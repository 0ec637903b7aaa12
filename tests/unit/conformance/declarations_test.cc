// The tables of tests/admission: values that the admission policies of two modules judge, judged by the host. The
// cluster suite has an API server judge the same tables.
#include <gmock/gmock.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "host/config/params.h"
#include "host/conformance/check_file.h"
#include "host/core/file.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/source_folder.h"

namespace cardcage {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

// Judges as a class, which must be complete because a claim may leave everything to it, or as a claim, which need not
// be.
Status judge(const ModuleIdentity& identity, std::string_view source, const json::value& parameters) {
  const bool in_class = source == "class";
  const auto decoded =
      decode_params(identity, in_class ? ConfigSource::kClass : ConfigSource::kClaim, json::serialize(parameters));
  if (!decoded) return std::unexpected(decoded.error());
  if (!in_class) return {};
  const auto resolved = resolve_params(identity, "any", {*decoded});
  return resolved ? Status() : std::unexpected(resolved.error());
}

void expect_judged_as_written(const std::filesystem::path& module, const std::string& table) {
  const auto identity = read_declarations({.file = module});
  ASSERT_TRUE(identity) << identity.error().message;
  const auto text = read_file(source_folder() / "tests/admission" / table, 1u << 20);
  ASSERT_TRUE(text) << text.error().message;
  const json::value rows = json::parse(*text);
  EXPECT_GT(rows.as_array().size(), 20u);
  for (const json::value& row : rows.as_array()) {
    const std::string about(row.at("case").as_string());
    const Status judged = judge(*identity, row.at("source").as_string(), row.at("parameters"));
    const json::value* const refused = row.as_object().if_contains("refused");
    EXPECT_EQ(judged.has_value(), refused == nullptr) << about << (judged ? "" : ": " + judged.error().message);
    if (refused != nullptr && !judged) {
      EXPECT_THAT(judged.error().message, HasSubstr(std::string(refused->as_string()))) << about;
    }
  }
}

TEST(DeclarationsTest, TheHostJudgesTheMocksTable) { expect_judged_as_written(built_module("mock"), "mock.json"); }

TEST(DeclarationsTest, TheHostJudgesTheTableOfEveryParameter) {
  expect_judged_as_written(test_modules() / "every_parameter.so", "every_parameter.json");
}

TEST(DeclarationsTest, AFileThatIsNoModuleIsAnError) {
  const auto identity = read_declarations({.file = test_modules() / "no_entry.so"});
  ASSERT_FALSE(identity);
  EXPECT_THAT(identity.error().message, HasSubstr("no_entry"));
}

}  // namespace
}  // namespace cardcage
