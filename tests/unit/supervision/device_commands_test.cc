// Commands of an operator to one device of a module.
#include "tests/unit/supervision/supervisor_fixture.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using Call = FakeModule::Call;
using namespace std::chrono_literals;

constexpr const char* kDeviceQuiesced =
    "it is quiesced by alice since 2027-01-15T08:00:00Z (driver 580); 'cagectl module resume fake gpu-0' "
    "takes it back into service";

class DeviceQuiesceTest : public SupervisorFixture {
 protected:
  DeviceQuiesceTest() {
    module->about.has_quiesce = module->about.has_check = true;
    module->about.families.add(Family::kQuiesce);
    module->devices.devices = {Device{.id = "GPU-0", .name = "gpu-0", .kind = "gpu"},
                               Device{.id = "GPU-0.1", .name = "gpu-0-1", .kind = "partition", .parent_id = "GPU-0"},
                               Device{.id = "GPU-1", .name = "gpu-1", .kind = "gpu"}};
    settle();
    for (const Device& device : supervisor.snapshot()->devices)
      module->events.health(device.id, Health{.state = HealthState::kHealthy});
  }
  Status quiesce(const std::string& device = "gpu-0") { return **order_device(ModuleVerb::kQuiesce, device); }
  Status resume(const std::string& device = "gpu-0") { return **order_device(ModuleVerb::kResume, device); }
  Health health(std::size_t index) { return supervisor.health(supervisor.snapshot()->devices[index]).health; }
};

TEST_F(DeviceQuiesceTest, OnlyTheDeviceAndItsPartitionsAreUnavailable) {
  ASSERT_TRUE(quiesce());
  EXPECT_THAT(module->calls, ::testing::Contains(Call{QuiesceDeviceCall::kName, "GPU-0"}));
  EXPECT_EQ(module->count<QuiesceCall>(), 0);
  EXPECT_EQ(supervisor.state(), ModuleState::kReady);
  EXPECT_TRUE(supervisor.module());
  for (const std::size_t index : {0u, 1u}) {
    EXPECT_EQ(health(index).reason, "Quiesced");
    EXPECT_EQ(health(index).message, kDeviceQuiesced);
    EXPECT_EQ(health(index).taint, TaintEffect::kNoSchedule);
    EXPECT_EQ(supervisor.why_withheld(supervisor.snapshot()->devices[index]), kDeviceQuiesced);
  }
  EXPECT_EQ(health(2).state, HealthState::kHealthy);
  EXPECT_EQ(supervisor.why_withheld(supervisor.snapshot()->devices[2]), "");
  EXPECT_THAT(supervisor.warning(), HasSubstr(std::string(kDeviceQuiesced).substr(3)));
  EXPECT_TRUE(quiesce("GPU-0")) << "a repeat is executed, also by id";
  EXPECT_EQ(module->count<QuiesceDeviceCall>(), 2);

  ASSERT_TRUE(resume());
  EXPECT_THAT(module->calls, ::testing::Contains(Call{ResumeDeviceCall::kName, "GPU-0"}));
  EXPECT_EQ(health(0).state, HealthState::kHealthy);
  EXPECT_EQ(supervisor.warning(), "");
  const int discovered = module->count<DiscoverCall>();
  clock.advance(1s);
  settle();
  EXPECT_EQ(module->count<DiscoverCall>(), discovered + 1) << "resume is followed by discover [R12]";
}

TEST_F(DeviceQuiesceTest, ADeviceThatIsListedOnlyByItsPartitionsIsNamedByItsId) {
  module->devices.devices.erase(module->devices.devices.begin());
  ASSERT_TRUE(**order(ModuleVerb::kRestart));
  settle();
  EXPECT_EQ(quiesce("gpu-0-1").error().message,
            "device 'gpu-0-1' is a partition: name the device that it is a part of, 'GPU-0'");
  ASSERT_TRUE(quiesce("GPU-0"));
  EXPECT_THAT(module->calls, ::testing::Contains(Call{QuiesceDeviceCall::kName, "GPU-0"}));
  EXPECT_EQ(health(0).reason, "Quiesced");
  EXPECT_TRUE(resume("GPU-0"));
  EXPECT_FALSE(quiesce("gpu-0")) << "nothing has this name";
}

TEST_F(DeviceQuiesceTest, AQuiescedDeviceIsNotChecked) {
  ASSERT_TRUE(quiesce());
  clock.advance(30s);
  settle();
  EXPECT_THAT(module->calls, ::testing::Contains(Call{CheckCall::kName, "GPU-1"}));
  EXPECT_THAT(module->calls, ::testing::Not(::testing::Contains(Call{CheckCall::kName, "GPU-0"})));
}

TEST_F(DeviceQuiesceTest, ADeviceThatCannotBeReleasedIsTakenBack) {
  module->fail<QuiesceDeviceCall>(Error{Code::kInternal, "a process uses it"});
  const Status quiesced = quiesce();
  ASSERT_FALSE(quiesced);
  EXPECT_EQ(quiesced.error().message, "device 'gpu-0' is not quiesced, nothing changed: a process uses it");
  EXPECT_EQ(module->count<ResumeDeviceCall>(), 1);
  EXPECT_EQ(health(0).state, HealthState::kHealthy);
}

TEST_F(DeviceQuiesceTest, ADeviceThatIsNeitherReleasedNorTakenBackStaysQuiesced) {
  module->fail<QuiesceDeviceCall>(Error{Code::kInternal, "a process uses it"});
  module->fail<ResumeDeviceCall>(Error{Code::kInternal, "the bus is off"});
  EXPECT_EQ(quiesce().error().message,
            "device 'gpu-0' is not released and stays quiesced (the bus is off): a process uses it");
  EXPECT_EQ(health(0).reason, "Quiesced");
  EXPECT_TRUE(resume());
}

TEST_F(DeviceQuiesceTest, AnInstanceThatIsLostMeanwhileHasReleasedNothingForSure) {
  module->block<QuiesceDeviceCall>();
  const auto done = order_device(ModuleVerb::kQuiesce, "gpu-0");
  module->events.lost(Error{Code::kUnavailable, "killed by signal 9"});
  module->fail<QuiesceDeviceCall>(Error{Code::kUnavailable, "killed by signal 9"});
  module->unblock<QuiesceDeviceCall>();
  settle();
  ASSERT_TRUE(*done);
  EXPECT_EQ((*done)->error().message,
            "device 'gpu-0' stays quiesced, but may not be released: repeat the command: killed by signal 9");
  EXPECT_EQ(health(0).reason, "Quiesced");
}

TEST_F(DeviceQuiesceTest, AFailedQuiesceOfTheWholeModuleDoesNotTakeTheDeviceBack) {
  ASSERT_TRUE(quiesce());
  module->fail<QuiesceCall>(Error{Code::kInternal, "gpu-1 is busy"});
  ASSERT_FALSE(**order(ModuleVerb::kQuiesce));
  EXPECT_EQ(module->count<ResumeCall>(), 1);
  EXPECT_EQ(module->calls.back(), (Call{QuiesceDeviceCall::kName, "GPU-0"}));
}

TEST_F(DeviceQuiesceTest, ADeviceThatCannotBeTakenBackStaysQuiesced) {
  ASSERT_TRUE(quiesce());
  module->fail<ResumeDeviceCall>(Error{Code::kInternal, "it is bound to vfio-pci"});
  const Status resumed = resume();
  ASSERT_FALSE(resumed);
  EXPECT_EQ(resumed.error().message, "device 'gpu-0' stays quiesced: it is bound to vfio-pci");
  EXPECT_EQ(health(0).reason, "Quiesced");
  EXPECT_TRUE(resume());
}

TEST_F(DeviceQuiesceTest, ANewInstanceIsToldBeforeOthersCallIt) {
  ASSERT_TRUE(quiesce());
  module->calls.clear();
  ASSERT_TRUE(**order(ModuleVerb::kRestart));
  const auto told = std::ranges::find(module->calls, Call{QuiesceDeviceCall::kName, "GPU-0"});
  const auto reconciled = std::ranges::find(module->calls, ReconcileCall::kName, &Call::name);
  ASSERT_NE(reconciled, module->calls.end());
  EXPECT_LT(told, reconciled);
  EXPECT_EQ(health(0).reason, "Quiesced");

  ASSERT_TRUE(**order(ModuleVerb::kQuiesce));
  EXPECT_THAT(resume().error().message, HasSubstr("'cagectl module resume fake' comes first"));
  ASSERT_TRUE(**order(ModuleVerb::kResume));
  EXPECT_EQ(module->count<QuiesceDeviceCall>(), 2);
  EXPECT_TRUE(resume());
}

TEST_F(DeviceQuiesceTest, AReplacementIsToldBeforeItTakesOver) {
  ASSERT_TRUE(quiesce());
  const auto next = std::make_shared<FakeModule>(core);
  next->about = module->about;
  next->about.sha256 = "another";
  next->devices = module->devices;
  module = next;
  supervisor.renew();
  settle();
  EXPECT_EQ(next->count<QuiesceDeviceCall>(), 1);
  EXPECT_EQ(supervisor.module().value(), next);
}

TEST_F(DeviceQuiesceTest, ADeviceThatIsNotListedAnyMoreIsResumedByItsName) {
  ASSERT_TRUE(quiesce());
  module->devices.devices.erase(module->devices.devices.begin());
  module->events.rescan();
  clock.advance(1s);
  settle();
  ASSERT_EQ(supervisor.snapshot()->devices.size(), 2u);
  EXPECT_TRUE(resume());
  EXPECT_EQ(resume().error().message, "module 'fake' has no device 'gpu-0'; 'cagectl devices' lists them");
}

TEST_F(DeviceQuiesceTest, AMarkOutlivesTheDaemon) {
  ASSERT_TRUE(quiesce());
  const QuiesceMarks next(folder / "quiesced", "this boot");
  ASSERT_NE(next.find("fake", "GPU-0"), nullptr);
  EXPECT_EQ(next.find("fake", "GPU-0")->device, "gpu-0");
  EXPECT_EQ(next.find("fake"), nullptr);
  EXPECT_TRUE(QuiesceMarks(folder / "quiesced", "another boot").of_devices("fake").empty());
}

TEST_F(DeviceQuiesceTest, WithoutAnInstanceOnlyTheMarkChanges) {
  module->fail<StartCall>(Error{Code::kUnavailable, "no driver loaded"}, 2);
  ASSERT_FALSE(**order(ModuleVerb::kRestart));
  ASSERT_EQ(supervisor.state(), ModuleState::kBackingOff);
  EXPECT_TRUE(quiesce());
  EXPECT_EQ(module->count<QuiesceDeviceCall>(), 0);
  EXPECT_TRUE(resume());
  EXPECT_TRUE(marks.of_devices("fake").empty());
}

TEST_F(DeviceQuiesceTest, CommandsThatMakeNoSenseAreRefused) {
  EXPECT_EQ(quiesce("gpu-7").error().message, "module 'fake' has no device 'gpu-7'; 'cagectl devices' lists them");
  EXPECT_THAT(quiesce("gpu-0-1").error().message,
              HasSubstr("a partition: name the device that it is a part of, 'GPU-0'"));
  EXPECT_EQ(resume().error().message, "device 'gpu-0' of module 'fake' is not quiesced");
  EXPECT_THAT((*order_device(ModuleVerb::kRestart, "gpu-0"))->error().message, HasSubstr("only a whole module"));
  module->about.families.remove(Family::kQuiesce);
  ASSERT_TRUE(**order(ModuleVerb::kRestart));
  EXPECT_EQ(quiesce().error().message,
            "module 'fake' cannot release one device alone; 'cagectl module quiesce fake' releases all of them");
}

TEST_F(DeviceQuiesceTest, ACallThatDoesNotEndIsReportedAtItsDeadline) {
  module->block<QuiesceDeviceCall>();
  const auto first = order_device(ModuleVerb::kQuiesce, "gpu-0");
  const auto second = order(ModuleVerb::kRestart);
  ASSERT_TRUE(*second);
  EXPECT_EQ((*second)->error().message,
            "device 'gpu-0' of module 'fake' is being quiesced; try again when that is done");
  module->unblock<QuiesceDeviceCall>();
  settle();
  ASSERT_TRUE(*first);
  EXPECT_TRUE(**first);
}

}  // namespace
}  // namespace cardcage
