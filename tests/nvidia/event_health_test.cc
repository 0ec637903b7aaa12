// Events are attributed to the right GPU.
#include "tests/nvidia/health_fixture.h"

namespace cardcage {
namespace {

class NvidiaEvents : public NvidiaHealthFixture {};
INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaEvents, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NvidiaEvents, AnXidIsThatOfTheGpuThatItNames) {
  ASSERT_TRUE(watch({.product = "h100", .gpus = 3}));
  gpus->raise_xid_in_sets_of(0, 2, 119);
  pass_ticks(1);
  EXPECT_TRUE(has_stated(gpus->uuid(2), "Xid", "Xid119"));
  EXPECT_EQ(about(gpus->uuid(0), "Xid").state, HealthState::kHealthy);
  gpus->raise_xid_in_sets_of(1, 1, 119);
  pass_ticks(1);
  EXPECT_TRUE(has_stated(gpus->uuid(1), "Xid", "Xid119"));
  EXPECT_EQ(about(gpus->uuid(0), "Xid").state, HealthState::kHealthy);
}

}  // namespace
}  // namespace cardcage
