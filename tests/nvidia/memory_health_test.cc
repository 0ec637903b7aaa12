// Memory errors: contained ones end a program, others take the GPU out of use.
#include "tests/nvidia/health_fixture.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;

class NvidiaMemoryHealth : public NvidiaHealthFixture {
 protected:
  Health ecc() { return about(gpus->uuid(0), "Ecc"); }
};
INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaMemoryHealth, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NvidiaMemoryHealth, AContainedErrorIsTheProgramsOwn) {
  ASSERT_TRUE(watch({.product = "h100"}));
  gpus->set_ecc(0, nvml::kUncorrected, nvml::kVolatile, 1);
  gpus->raise_xid(0, 94);
  pass_looks(1);
  const Health contained = ecc();
  EXPECT_EQ(contained.state, HealthState::kDegraded);
  EXPECT_EQ(contained.reason, "ContainedErrors");
  EXPECT_EQ(contained.taint, TaintEffect::kInform);
  EXPECT_EQ(contained.value, 1);
  EXPECT_EQ(about(gpus->uuid(0), "Xid").state, HealthState::kHealthy);
  EXPECT_TRUE(has_stated(gpus->uuid(0), "AppXid", "Xid94"));
}

TEST_P(NvidiaMemoryHealth, ATimeoutOfAContextSwitchIsTheProgramsOwn) {
  ASSERT_TRUE(watch({.product = "h100"}));
  gpus->raise_xid(0, 109);
  pass_looks(1);
  EXPECT_TRUE(has_stated(gpus->uuid(0), "AppXid", "Xid109"));
  EXPECT_EQ(about(gpus->uuid(0), "Xid").state, HealthState::kHealthy);
}

TEST_P(NvidiaMemoryHealth, AnErrorThatIsNotContainedTakesTheGpuUntilAReset) {
  for (const unsigned xid : {48U, 95U}) {
    ASSERT_TRUE(watch({.product = "h100"}));
    gpus->set_ecc(0, nvml::kUncorrected, nvml::kVolatile, 1);
    gpus->raise_xid(0, xid);
    pass_looks(1);
    EXPECT_TRUE(has_stated(gpus->uuid(0), "Xid", fmt::format("Xid{}", xid)));
    pass_looks(5);
    EXPECT_EQ(about(gpus->uuid(0), "Xid").state, HealthState::kHealthy) << "the driver asks for no action";
    EXPECT_EQ(ecc().state, HealthState::kUnhealthy) << xid;
    gpus->reset(0);
    pass_looks(2);
    EXPECT_EQ(ecc().state, HealthState::kHealthy) << xid;
    gpus->set_ecc(0, nvml::kUncorrected, nvml::kVolatile, 1);
    pass_looks(1);
    EXPECT_EQ(ecc().state, HealthState::kDegraded) << "errors from before the reset do not count";
  }
}

TEST_P(NvidiaMemoryHealth, AnErrorThatTheDriverOrARemapComplainsOfTakesTheGpu) {
  ASSERT_TRUE(watch({.product = "h100"}));
  gpus->set_ecc(0, nvml::kUncorrected, nvml::kVolatile, 1);
  gpus->set_recovery_action(0, nvml::kActionDrainP2p);
  pass_looks(1);
  EXPECT_EQ(ecc().state, HealthState::kDegraded) << "a single GPU works";
  gpus->set_recovery_action(0, nvml::kActionReset);
  pass_looks(1);
  EXPECT_EQ(ecc().state, HealthState::kUnhealthy);
  gpus->set_recovery_action(0, nvml::kActionNone);
  pass_looks(1);
  EXPECT_EQ(ecc().state, HealthState::kDegraded);
  nvml::RemappedRows2 rows{};
  rows.pending = 1;
  gpus->set_remapped_rows(0, rows);
  pass_looks(1);
  EXPECT_EQ(ecc().reason, "UncorrectableErrors");
  rows.pending = 0;
  rows.failure = 1;
  gpus->set_remapped_rows(0, rows);
  pass_looks(1);
  EXPECT_EQ(ecc().state, HealthState::kUnhealthy);
}

TEST_P(NvidiaMemoryHealth, AGpuBeforeAmpereContainsNothing) {
  ASSERT_TRUE(watch({.product = "t4"}));
  gpus->set_ecc(0, nvml::kUncorrected, nvml::kVolatile, 1);
  pass_looks(1);
  EXPECT_EQ(ecc().reason, "UncorrectableErrors");
}

TEST_P(NvidiaMemoryHealth, TooManyErrorsOfTheSramTakeTheGpu) {
  ASSERT_TRUE(watch({.product = "h100"}));
  gpus->state()->gpus[0].sram.volatileUncParity = 1;
  pass_looks(1);
  EXPECT_EQ(ecc().state, HealthState::kHealthy);
  gpus->state()->gpus[0].sram.thresholdExceeded = 1;
  pass_looks(1);
  EXPECT_EQ(ecc().state, HealthState::kUnhealthy);
  EXPECT_THAT(ecc().message, HasSubstr("replace the card"));
}

}  // namespace
}  // namespace cardcage
