// cage.edits.status and cage.edits.metadata in both isolations.
#include "tests/fakes/built_files.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StatementScenarios : public ModuleFixture, public ::testing::WithParamInterface<Isolation> {
 protected:
  StatementScenarios() : ModuleFixture(GetParam()) { modules_dir = built_modules(); }
  Result<PreparedEdits> prepare_with(std::vector<std::string> statements) {
    EXPECT_TRUE(start("libcardcage_mock.so", {{"statements", std::move(statements)}}));
    return run(module->call(PrepareCall{claim("u1", {"gpu-0", "gpu-1"})}, soon()));
  }
};

INSTANTIATE_TEST_SUITE_P(Isolation, StatementScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         ::testing::PrintToStringParamName());

TEST_P(StatementScenarios, ReachTheHostForEachDevice) {
  const auto edits = prepare_with({"condition Ready true Linked the link is up", "condition example.com/Hot false Cool",
                                   "data {\"lanes\": 16}", "network net1 02:00:00:00:00:01 10.1.2.3/24 2001:DB8::1/64",
                                   "describe slot a shelf 7"});
  ASSERT_TRUE(edits) << edits.error().message;
  const DeviceStatement expected{
      .conditions = {{"Ready", DeviceCondition::Status::kTrue, "Linked", "the link is up", {}},
                     {"example.com/Hot", DeviceCondition::Status::kFalse, "Cool", "", {}}},
      .data = R"({"lanes":16})",
      .network = NetworkData{"net1", {"10.1.2.3/24", "2001:db8::1/64"}, "02:00:00:00:00:01"},
      .metadata = Attributes{{"slot", std::string("a")}, {"shelf", std::string("7")}}};
  EXPECT_THAT(edits->statements, SizeIs(2));
  EXPECT_THAT(edits->statements, Each(expected));
}

TEST_P(StatementScenarios, ADescriptionMayBeEmpty) {
  const auto edits = prepare_with({"describe"});
  ASSERT_TRUE(edits) << edits.error().message;
  ASSERT_THAT(edits->statements, SizeIs(2));
  const DeviceStatement described{.conditions = {}, .data = {}, .network = {}, .metadata = Attributes()};
  EXPECT_EQ(edits->statements[1], described);
}

TEST_P(StatementScenarios, OneThatBreaksARuleFailsThePrepare) {
  const auto edits = prepare_with({"network net1 02:00 10.1.2.3"});
  ASSERT_FALSE(edits);
  EXPECT_THAT(edits.error().message, HasSubstr("'10.1.2.3' is not an address with the length of its prefix"));
}

TEST_P(StatementScenarios, WithoutThemThereAreNone) {
  const auto edits = prepare_with({});
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_THAT(edits->statements, IsEmpty());
}

}  // namespace
}  // namespace cardcage
