// Heat, by the margin of newer GPUs and drivers, by the thresholds of others, and by the reasons for lower clocks.
#include "tests/nvidia/health_fixture.h"
#include "tests/nvidia/loaded_fake.h"

namespace cardcage {
namespace {

class NvidiaTemperature : public NvidiaHealthFixture {
 protected:
  Health at(unsigned celsius) {
    gpus->set_temperature(0, celsius);
    pass_looks(1);
    return about(gpus->uuid(0), "Temperature");
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaTemperature, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

// nvmlTemperatureThresholds_t: 0 shutdown, 1 slowdown, 2 maximum of the memory, 3 maximum of the GPU.
TEST(FakeThresholdsTest, AreOfGpusBeforeAda) {
  unsigned celsius = 0;
  LoadedFake old{{.product = "t4"}};
  const auto read = [&](const LoadedFake& fake, unsigned threshold) {
    return fake.call.nvmlDeviceGetTemperatureThreshold(fake.device(), threshold, &celsius);
  };
  ASSERT_EQ(read(old, 0), 0);
  EXPECT_EQ(celsius, 96u);
  ASSERT_EQ(read(old, 1), 0);
  EXPECT_EQ(celsius, 93u);
  ASSERT_EQ(read(old, 3), 0);
  EXPECT_EQ(celsius, 85u);
  EXPECT_EQ(read(old, 2), 3) << "not supported";
  LoadedFake ada{{.product = "l40s"}};
  EXPECT_EQ(read(ada, 1), 3) << "it has a margin";
}

TEST_P(NvidiaTemperature, IsJudgedByThresholdsWhereThereIsNoMargin) {
  for (const auto& node : {FakeNode{.product = "t4"}, FakeNode{.product = "a100"}, FakeNode{.product = "a30"},
                           FakeNode{.product = "a100", .driver = "550.54.15"}}) {
    ASSERT_TRUE(watch(node));
    EXPECT_EQ(at(84).state, HealthState::kHealthy) << node.product;
    EXPECT_EQ(at(85).reason, "AboveOperatingTemperature") << node.product;
    EXPECT_EQ(at(99).reason, "NearShutdown") << node.product;
    EXPECT_EQ(at(99).state, HealthState::kUnhealthy) << node.product;
    const Health hot = at(node.product == std::string("t4") ? 93 : 89);
    EXPECT_EQ(hot.reason, "Hot") << node.product;
    EXPECT_EQ(hot.state, HealthState::kDegraded) << node.product;
    EXPECT_EQ(hot.taint, TaintEffect::kInform) << node.product;
    EXPECT_EQ(at(60).state, HealthState::kHealthy) << node.product;
  }
}

TEST_P(NvidiaTemperature, ASlowdownByHeatCountsWhateverTheSensorSays) {
  for (const FakeNode& node : {FakeNode{.product = "h100", .driver = "550.54.15"}, FakeNode{.product = "h100"}}) {
    ASSERT_TRUE(watch(node));
    for (const unsigned long long reason : {0x20ULL, 0x40ULL}) {
      gpus->state()->gpus[0].clock_reasons = reason;
      EXPECT_EQ(at(70).reason, "ThermalSlowdown") << reason;
      EXPECT_EQ(at(70).state, HealthState::kDegraded) << reason;
      gpus->state()->gpus[0].clock_reasons = 0x1 | 0x4;  // idle, power cap
      EXPECT_EQ(at(70).state, HealthState::kHealthy) << reason;
    }
  }
}

// The margin is 58 at 30 degrees, and the GPU switches itself off at -8.
TEST_P(NvidiaTemperature, IsJudgedByTheMarginWhereThereIsOne) {
  ASSERT_TRUE(watch({.product = "h100"}));
  EXPECT_EQ(at(87).state, HealthState::kHealthy);
  EXPECT_EQ(at(88).reason, "Hot");
  EXPECT_EQ(at(96).reason, "NearShutdown");
}

}  // namespace
}  // namespace cardcage
