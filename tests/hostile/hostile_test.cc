// Provokes each fault of a module in each isolation that can survive it, and checks that the outcome is the one in
// docs/failure-modes.md.
#include <algorithm>
#include <set>

#include "tests/fakes/idle_process.h"
#include "tests/fakes/proc.h"
#include "tests/hostile/failure_table.h"
#include "tests/hostile/hostile_modules.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

FailureRow row_of(const Fault& fault) {
  const auto rows = read_failure_table();
  const auto found = std::ranges::find(rows, fault.row, &FailureRow::fault);
  return found == rows.end() ? FailureRow() : *found;
}

std::vector<FaultCase> cases() {
  std::vector<FaultCase> all;
  for (const Fault& fault : faults()) {
    if (fault.runs_in_process) all.push_back({fault, Isolation::kInProcess});
    all.push_back({fault, Isolation::kProcess});
  }
  return all;
}

class HostileModulesTest : public HostileModules {
 protected:
  bool kills_the_daemon() const { return isolation == Isolation::kInProcess && fault().exit_in_process; }
  void expect_death() { EXPECT_EXIT(std::ignore = (this->*fault().provoke)(), fault().exit_in_process, ""); }

  Outcome provoke(const ProcessState& before) {
    const Status result = (this->*fault().provoke)();
    if (!result) {
      EXPECT_THAT(result.error().message, HasSubstr(expected_error()));
    }
    const bool loaded = module != nullptr;
    let_go();
    const std::string changes = changes_since(before);
    if (isolation == Isolation::kProcess) {
      EXPECT_THAT(changes, IsEmpty());
      EXPECT_TRUE(eventually([this] { return std::ranges::none_of(left_children, proc::is_alive); }));
    }
    if (!changes.empty()) return Outcome::kDaemonSpoiled;
    if (!loaded) return Outcome::kRefused;
    if (lost) return Outcome::kInstanceLost;
    return result ? Outcome::kHarmless : Outcome::kCallFails;
  }

 private:
  const std::string& expected_error() const {
    const bool same = isolation == Isolation::kProcess || fault().error_in_process.empty();
    return same ? fault().error : fault().error_in_process;
  }
  std::string changes_since(const ProcessState& before) {
    std::string changes = ProcessState::now().changes_since(before);
    // A hanging thread may still hold resources that it is about to release.
    if (isolation == Isolation::kInProcess && is_hanging_now())
      std::ignore = eventually([&] { return (changes = ProcessState::now().changes_since(before)).empty(); });
    return changes;
  }
};

INSTANTIATE_TEST_SUITE_P(Faults, HostileModulesTest, ::testing::ValuesIn(cases()), [](const auto& about) {
  return about.param.fault.id + (about.param.isolation == Isolation::kInProcess ? "_InProcess" : "_Process");
});

TEST_P(HostileModulesTest, HasTheOutcomeInTheTable) {
  const FailureRow row = row_of(fault());
  const FailureRow::Cell& cell = isolation == Isolation::kInProcess ? row.in_process : row.process;
  if (fault().needs_control_groups && writable_control_groups().empty()) GTEST_SKIP() << "no control group is writable";
  ASSERT_TRUE(cell.outcome) << "no row, or no outcome in it, for " << fault().row;
  use_a_good_module();  // opens files that the host then keeps open
  const ProcessState before = ProcessState::now();
  if (kills_the_daemon()) {
    expect_death();
    EXPECT_EQ(*cell.outcome, Outcome::kDaemonDies);
  } else {
    EXPECT_EQ(to_string(provoke(before)), to_string(*cell.outcome));
  }
  use_a_good_module();
  restore(before);
}

TEST(FailureTable, HasOneRowPerFault) {
  std::multiset<std::string> rows, known;
  for (const FailureRow& row : read_failure_table()) rows.insert(row.fault);
  for (const Fault& fault : faults()) known.insert(fault.row);
  EXPECT_EQ(rows, known);
}

TEST(FailureTable, UsesOnlyTheOutcomesThatItExplains) {
  EXPECT_THAT(read_explained_outcomes(), ElementsAre("refused", "call fails", "instance lost", "harmless",
                                                     "daemon spoiled", "daemon dies", "not run"));
  for (const FailureRow& row : read_failure_table())
    for (const FailureRow::Cell& cell : {row.in_process, row.process}) {
      EXPECT_TRUE(cell.outcome) << row.fault;
      EXPECT_FALSE(cell.words.empty()) << row.fault;
    }
}

TEST(FailureTable, MarksFaultsThatAreNotRunAndNoneReachesTheDaemonFromAProcess) {
  for (const Fault& fault : faults()) {
    const FailureRow row = row_of(fault);
    EXPECT_EQ(row.in_process.outcome == Outcome::kNotRun, !fault.runs_in_process) << fault.row;
    EXPECT_LT(row.process.outcome, Outcome::kDaemonSpoiled) << fault.row;
  }
}

}  // namespace
}  // namespace cardcage
