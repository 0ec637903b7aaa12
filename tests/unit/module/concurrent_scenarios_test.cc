// Overlapping calls of a concurrent module [R8], in both isolations. The mock waits in real time.
#include "host/module/running_module.h"
#include "tests/fakes/built_files.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;
using ::testing::HasSubstr;

constexpr milliseconds kSlow{300};

class ConcurrentScenarios : public ScenarioFixture {
 protected:
  ConcurrentScenarios() { modules_dir = built_modules(); }
  // Starts the mock with devices gpu-0 to gpu-31 and slow calls for claims.
  Status start_slow(const std::string& file = "libcardcage_mock_concurrent.so") {
    return start(file, {{"devices", std::vector<std::string>{"gpu:32"}},
                        {"prepare_delay", std::to_string(kSlow.count()) + "ms"}});
  }
  static ModuleClaim one(int number) { return claim("u" + std::to_string(number), {"gpu-" + std::to_string(number)}); }
  template <class T>
  bool wait(const std::shared_ptr<std::optional<T>>& result) {
    return eventually([&] { return result->has_value(); });
  }
  Duration since() const { return std::chrono::steady_clock::now() - begin_; }
  void begin_timing() { begin_ = std::chrono::steady_clock::now(); }

 private:
  Instant begin_;
};

INSTANTIATE_TEST_SUITE_P(Isolation, ConcurrentScenarios, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(ConcurrentScenarios, TwoPreparesTakeTheTimeOfOne) {
  ASSERT_TRUE(start_slow());
  begin_timing();
  const auto first = begin(module->call(PrepareCall{one(0)}, soon())),
             second = begin(module->call(PrepareCall{one(1)}, soon()));
  ASSERT_TRUE(wait(first) && wait(second));
  EXPECT_LT(since(), kSlow * 17 / 10);
  EXPECT_TRUE(**first) << (**first).error().message;
  EXPECT_TRUE(**second) << (**second).error().message;
}

TEST_P(ConcurrentScenarios, AModuleThatIsNotConcurrentPreparesOneAfterTheOther) {
  ASSERT_TRUE(start_slow("libcardcage_mock.so"));
  begin_timing();
  const auto first = begin(module->call(PrepareCall{one(0)}, soon())),
             second = begin(module->call(PrepareCall{one(1)}, soon()));
  ASSERT_TRUE(wait(first) && wait(second));
  EXPECT_GE(since(), kSlow * 2);
}

TEST_P(ConcurrentScenarios, CallsForOneClaimComeInOrder) {
  ASSERT_TRUE(start_slow());
  const auto prepared = begin(module->call(PrepareCall{one(0)}, soon()));
  const auto released = begin(module->call(UnprepareCall{one(0)}, soon()));
  ASSERT_TRUE(wait(released));
  EXPECT_TRUE(prepared->has_value()) << "unprepare has no delay of its own and must not overtake";
  EXPECT_TRUE(**released);
  const auto other = run(module->call(PrepareCall{claim("other", {"gpu-0"})}, soon()));
  EXPECT_TRUE(other) << other.error().message;
}

TEST_P(ConcurrentScenarios, DevicesAreListedWhileAClaimIsPrepared) {
  ASSERT_TRUE(start_slow());
  const auto prepared = begin(module->call(PrepareCall{one(0)}, soon()));
  EXPECT_TRUE(run(module->call(DiscoverCall{}, soon())));
  EXPECT_TRUE(run(module->call(CheckCall{{"gpu-1"}}, soon())));
  EXPECT_FALSE(prepared->has_value());
  ASSERT_TRUE(wait(prepared));
}

TEST_P(ConcurrentScenarios, QuiesceRunsAlone) {
  ASSERT_TRUE(start_slow());
  const auto prepared = begin(module->call(PrepareCall{one(0)}, soon()));
  const auto quiesced = begin(module->call(QuiesceCall{}, soon()));
  const auto later = begin(module->call(PrepareCall{one(1)}, soon()));
  ASSERT_TRUE(wait(later));
  EXPECT_TRUE(**prepared) << "it began before";
  EXPECT_TRUE(**quiesced);
  ASSERT_FALSE(**later) << "it may not overtake";
  EXPECT_THAT((**later).error().message, HasSubstr("quiesced"));
}

TEST_P(ConcurrentScenarios, SixteenCallsOverlapAndTheOthersWait) {
  ASSERT_TRUE(start_slow());
  begin_timing();
  std::vector<std::shared_ptr<std::optional<Result<PreparedEdits>>>> all;
  for (int i = 0; i < 17; ++i) all.push_back(begin(module->call(PrepareCall{one(i)}, soon())));
  ASSERT_TRUE(wait(all[15]));
  EXPECT_LT(since(), kSlow * 17 / 10);
  EXPECT_FALSE(all[16]->has_value());
  ASSERT_TRUE(wait(all[16]));
  EXPECT_GE(since(), kSlow * 2);
  for (const auto& each : all) EXPECT_TRUE(**each);
}

TEST_P(ConcurrentScenarios, ACallThatWaitsPastItsDeadlineNeverBegins) {
  ASSERT_TRUE(start_slow());
  const auto first = begin(module->call(PrepareCall{one(0)}, soon()));
  const auto second = begin(module->call(QuiesceCall{}, clock.now() + seconds(1)));
  advance(seconds(2));
  ASSERT_TRUE(second->has_value());
  EXPECT_THAT((**second).error().message, HasSubstr("it had no time for it, being busy with prepare"));
  ASSERT_TRUE(wait(first));
  EXPECT_TRUE(run(module->call(PrepareCall{one(1)}, soon()))) << "the module was not quiesced";
}

TEST_P(ConcurrentScenarios, ACallThatNeverReturnsCostsTheInstanceThoughOthersReturn) {
  const auto script = folder / "script";
  ASSERT_TRUE(
      start("libcardcage_mock_concurrent.so",
            {{"devices", std::vector<std::string>{"gpu:32"}}, {"hang", "prepare"}, {"script_file", script.native()}}));
  const auto stuck = begin(module->call(PrepareCall{one(0)}, clock.now() + seconds(1)));
  ASSERT_TRUE(eventually([&] { return !module->last_lines().empty(); })) << "it logs that it hangs";
  EXPECT_TRUE(run(module->call(DiscoverCall{}, soon()))) << "the module's thread is free";
  advance(seconds(1));
  ASSERT_TRUE(stuck->has_value());
  EXPECT_THAT((**stuck).error().message, HasSubstr("it did not answer in time"));
  EXPECT_TRUE(run(module->call(DiscoverCall{}, soon())));
  advance(kStuckGrace);
  ASSERT_TRUE(eventually([&] { return lost.has_value(); }));
  EXPECT_THAT(lost->message, HasSubstr("stuck in prepare"));
  std::ignore = run(module->stop(soon()));
  std::ofstream(script) << "heal prepare\n" << std::flush;
  const Leftover left = module->leftover();
  EXPECT_TRUE(eventually([&] { return !left || !left(); }));
}

}  // namespace
}  // namespace cardcage
