#include "host/module/check_modules.h"

#include <gmock/gmock.h>

#include "tests/fakes/built_files.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CheckModulesTest : public ::testing::Test {
 protected:
  CheckModulesTest() { config.node.modules_dirs = {test_modules()}; }
  ModuleConfig& add(const std::string& file) {
    ModuleConfig& module = config.modules.emplace_back();
    module.name = fmt::format("m{}", config.modules.size());
    module.path = file;
    module.position = {"t.toml", 3, 1};
    return module;
  }
  std::vector<std::string> problems() const {
    std::vector<std::string> texts;
    for (const Error& problem : check_modules(config)) texts.push_back(problem.message);
    return texts;
  }
  Config config;
};

TEST_F(CheckModulesTest, AcceptsWhatTheDaemonWouldStart) {
  add("good.so");
  add("scripted.so").options["behave"] = {std::vector<std::string>{"discover=hang"}, {"t.toml", 7, 1}};
  add("good.so").isolation = Isolation::kInProcess;
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(CheckModulesTest, TellsOfEachModuleWhatKeepsItFromStarting) {
  add("missing.so");
  add("undefined_symbol.so");
  add("scripted.so").options["releas"] = {std::string("x"), {"t.toml", 7, 1}};
  add("process_only.so").isolation = Isolation::kInProcess;
  add("process_only.so");
  add("good.so");
  EXPECT_THAT(
      problems(),
      ElementsAre(
          HasSubstr("module 'm1': "), HasSubstr("module 'm2'"),
          HasSubstr("t.toml:7:1: module 'm3' has no option 'releas'"),
          HasSubstr("module 'm4' must run in a process of its own: set isolation = \"process\" at t.toml:3:1")));
}

TEST_F(CheckModulesTest, HoldsHealthRulesAgainstWhatTheModuleDeclares) {
  HealthRuleConfig& rule = add("good.so").health.emplace_back();
  rule.cause = "Link";
  rule.resets_per_day = 1;
  rule.position = {"t.toml", 9, 1};
  EXPECT_THAT(problems(), ElementsAre("t.toml:9:1: health rule for 'Link': the module cannot reset devices, because it "
                                      "has no cage.reset; remove 'remedy'"));
}

}  // namespace
}  // namespace cardcage
