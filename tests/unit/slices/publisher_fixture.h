// Steps a SlicePublisher against a FakeCluster.
#pragma once

#include <gmock/gmock.h>

#include "host/slices/slice_publisher.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_cluster.h"
#include "tests/unit/slices/slice_pool.h"

namespace cardcage {

using namespace std::chrono_literals;

class SlicePublisherTest : public CoreFixture {
 protected:
  SlicePublisherTest() { cluster.put_node("node7", "node-uid"); }
  ~SlicePublisherTest() override {
    publisher.stop();
    settle();
    EXPECT_TRUE(ended || !started);
  }

  void start() {
    started = true;
    spawn(core, [](SlicePublisher& p, bool& end) -> Task<void> {
      co_await p.run();
      end = true;
    }(publisher, ended));
    settle();
  }
  void want(PoolContent content) { publisher.set_pools({{"node7", shared(std::move(content))}}); }
  // Advances the clock by `time` in steps.
  void pass(Duration time, Duration step = 5ms) {
    settle();
    for (Duration passed{}; passed < time; passed += step) {
      clock.advance(step);
      settle();
    }
  }
  // Advances the clock until everything is published; false if that takes longer than `limit`.
  bool converges(Duration limit = 100ms, Duration step = 5ms) {
    settle();
    for (Duration passed{}; passed < limit && !publisher.status().in_sync; passed += step) pass(step, step);
    return publisher.status().in_sync;
  }
  std::vector<Slice> stored() const {
    std::vector<Slice> slices;
    for (const auto& [name, slice] : cluster.slices()) slices.push_back(slice);
    return slices;
  }
  // Expects that the cluster holds exactly `content`, in a complete and valid pool.
  void expect_published(const PoolContent& content) {
    std::map<std::string, const SliceDevice*> wanted;
    for (const SliceDevice& device : content.devices) wanted[device.name] = &device;
    const ConsumerView view = consumer_view(stored());
    EXPECT_TRUE(view.complete);
    EXPECT_EQ(view.flaw, "");
    EXPECT_EQ(view.devices.size(), wanted.size());
    CounterSets counters;
    for (const Slice& slice : stored()) {
      EXPECT_EQ(slice.pool.generation, stored()[0].pool.generation);
      EXPECT_EQ(slice.owner_node_uid, "node-uid");
      counters.insert(slice.shared_counters.begin(), slice.shared_counters.end());
      for (SliceDevice device : slice.devices) {
        for (DeviceTaint& taint : device.taints) taint.time_added.clear();
        ASSERT_TRUE(wanted.contains(device.name)) << device.name;
        EXPECT_EQ(device, *wanted[device.name]);
      }
    }
    EXPECT_EQ(counters, content.counters);
  }

  FakeClock clock;
  FakeCluster cluster{core, clock};
  SlicePublisher publisher{core, clock, cluster, {.driver = "gpu.example.com", .node_name = "node7"}};
  bool started = false, ended = false;
};

}  // namespace cardcage
