#include "host/metrics/collector.h"

#include <gmock/gmock.h>

#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_module.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Collected = std::vector<CollectedMetrics>;

class MetricsCollectorTest : public CoreFixture {
 protected:
  MetricsCollectorTest() {
    module = make_module();
    sources = {{"gpu", module}};
  }
  std::shared_ptr<FakeModule> make_module() {
    auto made = std::make_shared<FakeModule>(core);
    made->about.families.add(Family::kMetrics);
    made->about.metrics = {{.name = "temperature_celsius", .help = "now"}};
    made->samples.samples = {{0, "gpu-0", {}, 41}};
    return made;
  }
  std::shared_ptr<std::optional<Collected>> begin() {
    auto result = std::make_shared<std::optional<Collected>>();
    spawn(core, keep(collector.collect(), result));
    settle();
    return result;
  }
  Collected collect() {
    const auto collected = begin();
    EXPECT_TRUE(*collected);
    return collected->value_or(Collected());
  }
  void advance(Duration duration) {
    clock.advance(duration);
    settle();
  }
  int calls() const { return module->count<CollectMetricsCall>(); }

  FakeClock clock;
  std::shared_ptr<FakeModule> module;
  std::vector<MetricsCollector::Source> sources;
  MetricsCollector collector{core, clock, [this] { return sources; }};

 private:
  static Task<void> keep(Task<Collected> task, std::shared_ptr<std::optional<Collected>> result) {
    result->emplace(co_await std::move(task));
  }
};

TEST_F(MetricsCollectorTest, CollectsWhenAPageIsWanted) {
  const Collected collected = collect();
  ASSERT_THAT(collected, SizeIs(1));
  EXPECT_EQ(collected[0].module, "gpu");
  EXPECT_THAT(*collected[0].declared, SizeIs(1));
  EXPECT_THAT(collected[0].samples->samples, SizeIs(1));
  EXPECT_EQ(collected[0].collected, clock.wall());
}

TEST_F(MetricsCollectorTest, ManyPagesCostOneCollection) {
  for (int i = 0; i < 5; ++i) EXPECT_THAT(collect(), SizeIs(1));
  EXPECT_EQ(calls(), 1);
  advance(MetricsCollector::kFresh);
  EXPECT_THAT(collect(), SizeIs(1));
  EXPECT_EQ(calls(), 2);
  advance(MetricsCollector::kFresh);
  module->block<CollectMetricsCall>();
  const auto one = begin(), two = begin();
  EXPECT_FALSE(*one);
  module->unblock<CollectMetricsCall>();
  settle();
  EXPECT_TRUE(*one);
  EXPECT_TRUE(*two);
  EXPECT_EQ(calls(), 3);
}

TEST_F(MetricsCollectorTest, ACollectionThatHangsCostsAPageTwoSecondsOnce) {
  EXPECT_THAT(collect(), SizeIs(1));
  const auto first_time = clock.wall();
  advance(10s);
  module->block<CollectMetricsCall>();
  const auto page = begin();
  EXPECT_FALSE(*page);
  advance(MetricsCollector::kPatience);
  ASSERT_TRUE(*page);
  EXPECT_THAT((**page)[0].samples->samples, SizeIs(1)) << "the samples of the last collection";
  EXPECT_EQ((**page)[0].collected, first_time);
  advance(1s);
  EXPECT_EQ(collect()[0].collected, first_time) << "at once";
  EXPECT_EQ(calls(), 2);
  module->unblock<CollectMetricsCall>();
  settle();
}

TEST_F(MetricsCollectorTest, ACollectionThatPassesItsDeadlineLeavesTheLastSamplesAndOneThatFailsDoesNot) {
  EXPECT_THAT(collect(), SizeIs(1));
  advance(5s);
  module->fail<CollectMetricsCall>({Code::kDeadlineExceeded, "it did not answer in time"});
  EXPECT_TRUE(collect()[0].samples);
  EXPECT_EQ(collect()[0].failures, 1U);
  advance(5s);
  module->fail<CollectMetricsCall>({Code::kInternal, "the bus is down"});
  EXPECT_FALSE(collect()[0].samples);
  EXPECT_EQ(collect()[0].failures, 2U);
  advance(5s);
  EXPECT_TRUE(collect()[0].samples);
}

TEST_F(MetricsCollectorTest, NothingWaitsBehindALongCallOfAModuleThatIsNotConcurrent) {
  EXPECT_THAT(collect(), SizeIs(1));
  advance(5s);
  module->busy_with = BusyModule{"prepare", clock.now(), clock.now() + 60s};
  EXPECT_TRUE(collect()[0].samples);
  EXPECT_EQ(calls(), 1);
  module->about.concurrent = true;
  EXPECT_TRUE(collect()[0].samples);
  EXPECT_EQ(calls(), 2);
}

TEST_F(MetricsCollectorTest, SamplesGoWithTheirInstance) {
  EXPECT_THAT(collect(), SizeIs(1));
  const auto before = module;
  module = make_module();
  module->fail<CollectMetricsCall>({Code::kUnavailable, "not yet"});
  sources = {{"gpu", module}};
  const Collected collected = collect();
  ASSERT_THAT(collected, SizeIs(1));
  EXPECT_FALSE(collected[0].samples);
  EXPECT_EQ(collected[0].failures, 1U);
  sources = {};
  EXPECT_THAT(collect(), IsEmpty());
}

}  // namespace
}  // namespace cardcage
