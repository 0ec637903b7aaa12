// cage.edits.journal in both isolations, on the module's thread and on those for the claims of a concurrent module.
#include "tests/fakes/built_files.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Setup {
  Isolation isolation;
  const char* module;
};
std::string name_of_setup(const ::testing::TestParamInfo<Setup>& about) {
  const bool concurrent = std::string_view(about.param.module).contains("concurrent");
  return ::testing::PrintToString(about.param.isolation) + (concurrent ? "Concurrent" : "OneThread");
}

class JournalScenarios : public ModuleFixture, public ::testing::WithParamInterface<Setup> {
 protected:
  JournalScenarios() : ModuleFixture(GetParam().isolation) { modules_dir = built_modules(); }
  Status start_with_journal(Options options = {}) {
    options["journal"] = true;
    return start(GetParam().module, options);
  }
  JournalWriter writer() {
    return [this](std::string bytes) {
      kept.push_back(std::move(bytes));
      return outcome;
    };
  }
  std::vector<std::string> kept;
  Status outcome;
};

INSTANTIATE_TEST_SUITE_P(Setup, JournalScenarios,
                         ::testing::Values(Setup{Isolation::kInProcess, "libcardcage_mock.so"},
                                           Setup{Isolation::kInProcess, "libcardcage_mock_concurrent.so"},
                                           Setup{Isolation::kProcess, "libcardcage_mock.so"},
                                           Setup{Isolation::kProcess, "libcardcage_mock_concurrent.so"}),
                         name_of_setup);

TEST_P(JournalScenarios, IsKeptDuringThePrepareAndComesBack) {
  ASSERT_TRUE(start_with_journal());
  ModuleClaim one = claim("u1", {"gpu-0"});
  const auto first = run(module->call(PrepareCall{one}, soon(), writer()));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_THAT(kept, ElementsAre("preparing u1"));
  one.journal = kept.front();
  const auto again = run(module->call(PrepareCall{one}, soon(), writer()));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(eventually([&] { return module->last_lines().back().text.contains("came back: 'preparing u1'"); }));
  one.state = again->state;
  one.state_version = again->state_version;
  EXPECT_TRUE(run(module->call(UnprepareCall{one}, soon())));
}

TEST_P(JournalScenarios, ThatCannotBeKeptFailsThePrepare) {
  ASSERT_TRUE(start_with_journal());
  outcome = fail(Code::kResourceExhausted, "run_dir is full: make room there");
  const auto refused = run(module->call(PrepareCall{claim("u1", {"gpu-0"})}, soon(), writer()));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("run_dir is full: make room there"));
  outcome = {};
  EXPECT_TRUE(run(module->call(PrepareCall{claim("u2", {"gpu-0"})}, soon(), writer()))) << "it left nothing behind";
}

TEST_P(JournalScenarios, IsNotKeptForACallThatNobodyWaitsFor) {
  const auto script = folder / "script";
  ASSERT_TRUE(start_with_journal({{"hang", "prepare"}, {"script_file", script.native()}}));
  const auto late = begin(module->call(PrepareCall{claim("u1", {"gpu-0"})}, clock.now() + seconds(1), writer()));
  advance(seconds(1));
  ASSERT_TRUE(late->has_value());
  std::ofstream(script) << "heal prepare\n" << std::flush;
  EXPECT_TRUE(run(module->finish_calls(soon())));
  EXPECT_THAT(kept, IsEmpty());
  EXPECT_TRUE(run(module->call(PrepareCall{claim("u2", {"gpu-0"})}, soon(), writer())))
      << "the late call holds no device";
}

}  // namespace
}  // namespace cardcage
