#include "host/config/options.h"

#include <gmock/gmock.h>

#include "tests/unit/config/declarations.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Values = std::vector<std::string>;

std::expected<OptionValues, ConfigErrors> checked_options(
    const std::map<std::string, OptionValue>& written,
    const std::vector<OptionDeclaration>& declared = declarations()) {
  ModuleConfig config;
  config.name = "gpu";
  config.position = {"t.toml", 3, 1};
  std::uint32_t line = 10;
  for (const auto& [name, value] : written) config.options[name] = {value, {"t.toml", line++, 8}};
  return check_options(config, declared);
}
Values errors(const std::map<std::string, OptionValue>& written,
              const std::vector<OptionDeclaration>& declared = declarations()) {
  const auto checked = checked_options(written, declared);
  Values lines;
  if (!checked)
    for (const auto& entry : checked.error().entries)
      lines.push_back(entry.position.to_string() + ": " + entry.message);
  return lines;
}

TEST(OptionsTest, FillsDefaultsOfEveryType) {
  const auto values = checked_options({});
  ASSERT_TRUE(values);
  const auto value = [&](const char* name) { return values->entries.find(name)->second.value; };
  EXPECT_EQ(value("mig"), OptionValue("none"));
  EXPECT_EQ(value("replicas"), OptionValue(std::int64_t{1}));
  EXPECT_EQ(value("interval"), OptionValue(std::int64_t{90'000'000'000}));
  EXPECT_EQ(value("ignore"), OptionValue(Values{"a", "b"}));
  EXPECT_EQ(value("strict"), OptionValue(false));
  EXPECT_FALSE(values->entries.find("mig")->second.given);
}

TEST(OptionsTest, TakesWrittenValues) {
  const auto values = checked_options({{"mig", "mixed"}, {"interval", "5m"}, {"strict", true}, {"ignore", Values{}}});
  ASSERT_TRUE(values);
  EXPECT_EQ(values->entries.find("interval")->second,
            (OptionValues::Entry{OptionValue(std::int64_t{300'000'000'000}), true}));
  EXPECT_EQ(values->entries.find("ignore")->second, (OptionValues::Entry{OptionValue(Values{}), true}));
}

TEST(OptionsTest, ReportsAllErrorsAtOnceInOrderOfTheirPositions) {
  EXPECT_THAT(errors({{"intervall", "5m"}, {"mig", "mixd"}, {"replicas", std::int64_t{9}}}),
              ElementsAre("t.toml:10:8: module 'gpu' has no option 'intervall' (did you mean 'interval'?)",
                          "t.toml:11:8: option 'mig' of module 'gpu' is 'mixd', expected one of 'none', 'single', "
                          "'mixed' (did you mean 'mixed'?)",
                          "t.toml:12:8: option 'replicas' of module 'gpu' is 9, expected 1 to 8"));
}

TEST(OptionsTest, NamesTheTypeThatIsExpected) {
  EXPECT_THAT(errors({{"interval", std::int64_t{5}}, {"mig", true}, {"replicas", "two"}, {"strict", Values{"x"}}}),
              ElementsAre("t.toml:10:8: option 'interval' of module 'gpu' is an integer, expected a duration such as "
                          "\"30s\"",
                          "t.toml:11:8: option 'mig' of module 'gpu' is a boolean, expected a string",
                          "t.toml:12:8: option 'replicas' of module 'gpu' is a string, expected an integer",
                          "t.toml:13:8: option 'strict' of module 'gpu' is a list of strings, expected true or false"));
}

TEST(OptionsTest, ChecksRangesOfDurationsAndLists) {
  EXPECT_THAT(errors({{"ignore", Values{"a", "b", "c"}}, {"interval", "2h"}}),
              ElementsAre("t.toml:10:8: option 'ignore' of module 'gpu' has 3 entries, expected 0 to 2",
                          "t.toml:11:8: option 'interval' of module 'gpu' is 2h, expected 1s to 1h"));
  EXPECT_THAT(errors({{"interval", "5 minutes"}}),
              ElementsAre(HasSubstr("t.toml:10:8: option 'interval' of module 'gpu' is not valid: ")));
}

TEST(OptionsTest, NeverRepeatsASecret) {
  const auto lines = errors({{"token", "hunter2"}});
  EXPECT_THAT(lines, ElementsAre(HasSubstr("is a secret value, expected one of 'one', 'two'")));
  EXPECT_THAT(lines, ElementsAre(Not(HasSubstr("hunter2"))));
}

TEST(OptionsTest, ReportsAMissingRequiredOptionAtItsModule) {
  auto address = declare("address", OptionType::kString);
  address.required = true;
  EXPECT_THAT(errors({}, {address}), ElementsAre("t.toml:3:1: module 'gpu' needs option 'address' (help of address)"));
  EXPECT_TRUE(checked_options({{"address", "10.0.0.1"}}, {address}));
}

TEST(OptionsTest, TablesAreForOptionsThatTakeThem) {
  ModuleConfig config;
  config.name = "generic";
  config.options["devices"] = {Values{"name=fuse\n"}, {"t.toml", 4, 1}, true};
  auto devices = declare("devices", OptionType::kList);
  const auto refused = check_options(config, {devices});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().entries.front().message,
            "option 'devices' of module 'generic' is a list with tables, expected a list of strings");
  devices.objects = true;
  const auto taken = check_options(config, {devices});
  ASSERT_TRUE(taken) << taken.error().to_string();
  EXPECT_EQ(taken->entries.at("devices").value, OptionValue(Values{"name=fuse\n"}));
}

TEST(OptionsTest, RefusesTextThatAModuleCouldNotRead) {
  const std::vector<OptionDeclaration> text = {declare("text", OptionType::kString)};
  EXPECT_THAT(errors({{"text", std::string("a\0b", 3)}}, text),
              ElementsAre(HasSubstr("is not UTF-8 text without NUL")));
  EXPECT_THAT(errors({{"text", "\xff"}}, text), ElementsAre(HasSubstr("is not UTF-8 text without NUL")));
}

TEST(OptionsTest, LiveOptionsAloneNeedNoNewInstance) {
  std::vector<OptionDeclaration> declared = {declare("mode", OptionType::kString),
                                             declare("level", OptionType::kInteger)};
  declared[1].live = true;
  const auto config = [](const std::string& mode, std::optional<std::int64_t> level) {
    ModuleConfig made{.name = "gpu"};
    made.options["mode"].value = mode;
    if (level) made.options["level"].value = *level;
    return made;
  };
  const auto live = [&](const ModuleConfig& before, const ModuleConfig& after) {
    return differs_in_live_options_only(before, after, declared);
  };
  EXPECT_TRUE(live(config("a", 1), config("a", 2)));
  EXPECT_TRUE(live(config("a", {}), config("a", 2)));
  EXPECT_TRUE(live(config("a", 1), config("a", {})));
  EXPECT_FALSE(live(config("a", 1), config("a", 1)));
  EXPECT_FALSE(live(config("a", 1), config("b", 2)));
  ModuleConfig confined = config("a", 2);
  confined.process.seccomp = true;
  EXPECT_FALSE(live(config("a", 1), confined));
}

TEST(OptionsTest, AnOptionMayBeTables) {
  const std::string start = R"(
[node]
name = "node1"
[[module]]
name = "generic"
path = "libcardcage_generic.so"
serve = [{ driver = "generic.cardcage.dev" }]
[[module.options.devices]]
name = "serial"
paths = ["/dev/ttyUSB*", "/dev/ttyACM*"]
count = 3
together = true
)";
  const auto config =
      parse_config(start + "[[module.options.devices]]\nname = \"a=b\"\n", "t.toml", process_environment);
  ASSERT_TRUE(config) << config.error().to_string();
  const RawOption& devices = config->modules.at(0).options.at("devices");
  EXPECT_TRUE(devices.has_tables);
  EXPECT_EQ(devices.value,
            OptionValue(std::vector<std::string>{
                "count=3\nname=serial\npaths=/dev/ttyUSB*\npaths=/dev/ttyACM*\ntogether=true\n", "name=a=b\n"}));
  const auto refused = [&](const std::string& line) {
    const auto parsed = parse_config(start + line + "\n", "t.toml", process_environment);
    return parsed ? std::string() : parsed.error().entries.front().message;
  };
  const std::string rule = " of its table must be one line of text, an integer, a boolean, or a list of these";
  EXPECT_EQ(refused("speed = 1.5"), "module.options.devices: member 'speed'" + rule);
  EXPECT_EQ(refused("nested = { a = 1 }"), "module.options.devices: member 'nested'" + rule);
  EXPECT_EQ(refused("list = [[1]]"), "module.options.devices: member 'list'" + rule);
  EXPECT_EQ(refused("text = \"a\\nb\""), "module.options.devices: member 'text'" + rule);
  EXPECT_EQ(refused("\"a=b\" = 1"), "module.options.devices: member 'a=b'" + rule);
}

}  // namespace
}  // namespace cardcage
