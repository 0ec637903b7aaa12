// Resets of GPUs: nvidia-smi runs while no process has them open, and all causes are stated again.
#include "tests/nvidia/nvidia_fixture.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class NvidiaReset : public NvidiaFixture {
 protected:
  Status reset(const std::string& id) { return run(module->call(ResetCall{id}, soon())); }
  std::string refusal_of(const std::string& id, Code code) {
    const Status refused = reset(id);
    EXPECT_FALSE(refused);
    if (refused) return {};
    EXPECT_EQ(refused.error().code, code);
    EXPECT_THAT(gpus->smi_log(), Not(HasSubstr("--gpu-reset")));
    return refused.error().message;
  }
  // The statements about the device since the last clear(), by cause.
  std::map<std::string, Health> stated_about(const std::string& id) {
    let_news_pass();
    settle();
    std::map<std::string, Health> found;
    for (const auto& [device, health] : reports)
      if (device == id) found[health.cause] = health;
    return found;
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, NvidiaReset, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NvidiaReset, HealsAGpuAndStatesItsCausesAnew) {
  ASSERT_TRUE(watch({.product = "h100", .gpus = 2}));
  gpus->set_recovery_action(1, nvml::kActionReset);
  gpus->raise_xid(1, 119);
  gpus->set_ecc(1, nvml::kUncorrected, nvml::kVolatile, 2);
  gpus->state()->gpus[1].persistence = nvml::kEnabled;
  pass_looks(1);
  ASSERT_EQ(stated_about(gpus->uuid(1)).at("Xid").reason, "Xid119");
  reports.clear();
  const Status done = reset(gpus->uuid(1));
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(gpus->smi_log(), HasSubstr("--gpu-reset -i " + gpus->bus_id(1)));
  EXPECT_TRUE(eventually([&] { return stated_about(gpus->uuid(1)).size() >= 13; }));
  for (const auto& [cause, health] : stated_about(gpus->uuid(1)))
    EXPECT_EQ(health.state, HealthState::kHealthy) << cause;
  EXPECT_TRUE(stated_about(gpus->uuid(1)).contains("Xid"));
  EXPECT_TRUE(stated_about(gpus->uuid(1)).contains("Access"));
  EXPECT_EQ(gpus->state()->gpus[1].persistence, nvml::kEnabled);

  pass_ticks(1);  // until then, errors of the other GPUs come from the kernel's log
  gpus->raise_xid(0, 119);
  gpus->raise_xid(1, 119);
  pass_looks(1);
  for (const int gpu : {0, 1})
    EXPECT_EQ(stated_about(gpus->uuid(gpu)).at("Xid").reason, "Xid119") << "events are watched again";
}

TEST_P(NvidiaReset, OfALostGpuIsTried) {
  ASSERT_TRUE(watch({.product = "h100"}));
  gpus->lose(0);
  EXPECT_EQ(device("gpu-0").health.reason, "GpuLost");
  const Status done = reset(gpus->uuid(0));
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("GPU is lost"));
  EXPECT_THAT(gpus->smi_log(), HasSubstr("--gpu-reset -i " + gpus->bus_id(0)));
}

TEST_P(NvidiaReset, FailsWhileAProcessIsOnTheGpu) {
  ASSERT_TRUE(watch({.product = "h100"}));
  gpus->add_process(0, 4711, 1 << 20);
  const Status busy = reset(gpus->uuid(0));
  ASSERT_FALSE(busy);
  EXPECT_THAT(busy.error().message, HasSubstr("In use by another client"));
  gpus->remove_process(0, 4711);
  EXPECT_TRUE(reset(gpus->uuid(0)));
}

TEST_P(NvidiaReset, OfAGpuTakesItsPartitionsWithIt) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100"});
  ASSERT_TRUE(watch_again({{"mig", std::string("dynamic")}}));
  gpus->set_mig_mode(0, true);
  const unsigned instance = gpus->create_instance(0, 19, 0);
  const std::string uuid = gpus->mig_uuid(0, instance);
  discover();
  EXPECT_THAT(refusal_of(uuid, Code::kUnimplemented),
              AllOf(HasSubstr("a MIG device cannot be reset alone"), HasSubstr(gpus->uuid(0))));
  const Status done = reset(gpus->uuid(0));
  EXPECT_TRUE(done) << done.error().message;
}

TEST_P(NvidiaReset, KeepsInstancesThatAnAdministratorHasMade) {
  gpus = std::make_unique<FakeGpus>(folder / "node", FakeNode{.product = "h100"});
  gpus->set_mig_mode(0, true);
  gpus->create_instance(0, 19, 0);
  ASSERT_TRUE(watch_again());
  EXPECT_THAT(refusal_of(gpus->uuid(0), Code::kFailedPrecondition), HasSubstr("an administrator has made"));
}

TEST_P(NvidiaReset, OfASiblingForVirtualMachinesIsThatOfItsGpu) {
  ASSERT_TRUE(watch({.product = "h100"}, {{"passthrough", true}}));
  const Status done = reset(device("gpu-vfio-0").id);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(gpus->smi_log(), HasSubstr("--gpu-reset"));
  gpus->bind(0, "vfio-pci");
  discover();
  EXPECT_FALSE(reset(device("gpu-vfio-0").id)) << "it is not bound to NVIDIA's driver";
}

TEST_P(NvidiaReset, IsRefusedWhileQuiescedAndOfUnknownDevices) {
  ASSERT_TRUE(watch({.product = "h100"}));
  EXPECT_THAT(refusal_of("GPU-0", Code::kNotFound), HasSubstr("not on this node"));
  ASSERT_TRUE(run(module->call(QuiesceDeviceCall{gpus->uuid(0)}, soon())));
  EXPECT_THAT(refusal_of(gpus->uuid(0), Code::kUnavailable), HasSubstr("is quiesced"));
  ASSERT_TRUE(run(module->call(ResumeDeviceCall{gpus->uuid(0)}, soon())));
  ASSERT_TRUE(run(module->call(QuiesceCall{}, soon())));
  EXPECT_THAT(refusal_of(gpus->uuid(0), Code::kUnavailable), HasSubstr("is quiesced"));
}

}  // namespace
}  // namespace cardcage
