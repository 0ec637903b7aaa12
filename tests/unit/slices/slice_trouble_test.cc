#include <random>

#include "tests/unit/slices/publisher_fixture.h"

namespace cardcage {
namespace {

using Verb = FakeCluster::Verb;
using SliceTroubleTest = SlicePublisherTest;

// The cluster finally holds exactly the wanted pool, whatever other clients do meanwhile.
TEST_F(SliceTroubleTest, RandomFailuresConverge) {
  std::mt19937 random(3u + static_cast<unsigned>(GTEST_FLAG_GET(random_seed)));
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  const auto trouble = [&](std::size_t kind) {
    const auto slices = stored();
    const std::string victim = slices.empty() ? "" : slices[below(slices.size())].name;
    constexpr Verb kVerbs[] = {Verb::kGetNode, Verb::kList, Verb::kCreate, Verb::kUpdate, Verb::kDelete};
    constexpr Code kCodes[] = {Code::kUnavailable, Code::kAborted, Code::kResourceExhausted, Code::kNotFound};
    if (kind == 0) cluster.wipe_slices();
    if (kind == 1) cluster.remove_slice(victim);
    if (kind == 2) cluster.fail_next(kVerbs[below(5)], 1, {kCodes[below(4)], "trouble"});
    if (kind == 3) cluster.lose_answers(kVerbs[below(5)], 1);
    if (kind == 4) cluster.end_watches(fail(Code::kUnavailable, "reset"));
    if (kind == 5) cluster.compact(), cluster.end_watches();
    if (kind >= 6 && !slices.empty()) {
      Slice changed = cluster.slices().at(victim);
      if (kind == 6) changed.name.clear();
      if (kind == 7) changed.pool.generation += 2;
      if (kind == 8) changed.pool.slice_count += 1;
      if (kind == 9 && !changed.devices.empty()) changed.devices.erase(changed.devices.begin());
      cluster.put_slice(changed);
    }
  };
  start();
  for (int round = 0; round < 40; ++round) {
    PoolContent content;
    const std::size_t count = round == 39 ? 10'000 : below(600);
    for (std::size_t i = 0; i < count; ++i)
      if (below(10) > 0)
        content.devices.push_back(below(200) == 0 ? tainted_device(numbered(i)) : plain_device(numbered(i)));
    if (below(3) == 0) {
      content.counters["card"] = slots(2);
      content.devices.push_back(partition("part", "card"));
    }
    want(content);
    for (std::size_t i = below(6); i > 0; --i) {
      trouble(below(10));
      for (std::size_t steps = below(40); steps > 0; --steps) core.poll_one();
      if (below(2) == 0) pass(5ms);
    }
    pass(1s, 50ms);
    ASSERT_TRUE(converges(10min, 1s)) << round << ": " << publisher.status().last_error;
    pass(1min, 10s);
    expect_published(content);
    if (HasFailure()) FAIL() << "in round " << round;
  }
}

}  // namespace
}  // namespace cardcage
