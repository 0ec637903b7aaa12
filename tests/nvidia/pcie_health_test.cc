// The PCIe link of a GPU, compared with its best state.
#include "tests/nvidia/health_fixture.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;

class NvidiaPcieHealth : public NvidiaHealthFixture {
 protected:
  void set_generation(unsigned generation, unsigned percent) {
    const auto world = gpus->state();
    world->gpus[0].pcie_generation = generation;
    world->gpus[0].gpu_percent = percent;
  }
  Health link() { return about(gpus->uuid(0), "Pcie"); }
};
INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaPcieHealth, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NvidiaPcieHealth, ASlotMayHaveFewerLanesThanTheCard) {
  for (const char* product : {"l40s", "t4"}) {
    gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = product});
    gpus->set_link_width(0, 8);
    ASSERT_TRUE(watch_again());
    EXPECT_EQ(link().state, HealthState::kHealthy) << product;
    EXPECT_EQ(link().value, 8) << product;
    gpus->set_link_width(0, 4);
    pass_looks(1);
    EXPECT_EQ(link().state, HealthState::kDegraded) << product;
    EXPECT_THAT(link().message, HasSubstr("4 of the 8 lanes")) << product;
  }
}

TEST_P(NvidiaPcieHealth, AnotherDriverChangesNoLink) {
  ASSERT_TRUE(watch({.product = "l40s"}));
  gpus->set_link_width(0, 8);
  gpus->upgrade_driver("580.126.20");
  discover();
  pass_looks(2);
  EXPECT_THAT(link().message, HasSubstr("8 of the 16 lanes"));
}

TEST_P(NvidiaPcieHealth, ASlotMayBeOfAnOlderGeneration) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "l40s"});
  set_generation(1, 0);
  ASSERT_TRUE(watch_again());
  set_generation(3, 90);  // the link's maximum is 4
  pass_looks(1);
  EXPECT_EQ(link().state, HealthState::kHealthy);
  set_generation(1, 0);
  pass_looks(1);
  EXPECT_EQ(link().state, HealthState::kHealthy) << "the GPU is idle";
  set_generation(2, 90);
  pass_looks(1);
  EXPECT_EQ(link().reason, "LinkSlow");
}

}  // namespace
}  // namespace cardcage
