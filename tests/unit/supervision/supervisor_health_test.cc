// Times at which changes of devices' health are reported.
#include "tests/unit/supervision/supervisor_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

class SupervisorHealthTest : public SupervisorFixture {};

TEST_F(SupervisorHealthTest, ADeviceFallsSilentWhenItIsDue) {
  settle();
  module->events.health("gpu-0", Health{.state = HealthState::kHealthy, .timeout = 3s});
  settle();
  clock.advance(2s);
  module->events.health("gpu-0", Health{.state = HealthState::kHealthy, .timeout = 3s});
  settle();
  const int before = changes;
  clock.advance(2s);
  settle();
  EXPECT_EQ(changes, before) << "the module has reported meanwhile";
  clock.advance(1s);
  settle();
  EXPECT_EQ(changes, before + 1);
  EXPECT_EQ(supervisor.health(device()).health.reason, "Silent");
  clock.advance(60s);
  settle();
  EXPECT_EQ(changes, before + 1) << "nothing new";
}

TEST_F(SupervisorHealthTest, AChangeOfStateIsToldAtOnceAndOthersSoonAfterItTogether) {
  for (const char* id : {"gpu-1", "gpu-2", "gpu-3"})
    module->devices.devices.push_back(Device{.id = id, .name = id, .kind = "gpu"});
  settle();
  const int before = changes;
  for (const char* id : {"gpu-0", "gpu-1", "gpu-2", "gpu-3"})
    module->events.health(id, Health{.state = HealthState::kUnhealthy});
  settle();
  EXPECT_EQ(changes, before + 1) << "the first change is reported at once";
  EXPECT_EQ(last_change, SupervisorEvent::kHealth);
  clock.advance(5ms);
  settle();
  EXPECT_EQ(changes, before + 2) << "the others are reported together";
  EXPECT_EQ(supervisor.health(supervisor.snapshot()->devices[3]).health.state, HealthState::kUnhealthy);
  clock.advance(5ms);
  settle();
  EXPECT_EQ(changes, before + 2) << "nothing new";
}

TEST_F(SupervisorHealthTest, ADeviceThatFlapsIsDamped) {
  settle();
  const int before = changes;
  for (int i = 0; i < 1000; ++i) {
    clock.advance(10ms);
    module->events.health("gpu-0", Health{.state = i % 2 == 0 ? HealthState::kUnhealthy : HealthState::kHealthy});
    settle();
  }
  EXPECT_LE(changes, before + 8) << "a few times, and then it stays unhealthy for a while";
  EXPECT_EQ(supervisor.health(device()).health.state, HealthState::kUnhealthy);
  clock.advance(10min);
  settle();
  EXPECT_EQ(supervisor.health(device()).health.state, HealthState::kHealthy);
}

TEST_F(SupervisorHealthTest, ChangesOfTextAreToldOnceInASecond) {
  settle();
  module->events.health("gpu-0", Health{.state = HealthState::kDegraded, .message = "91 degrees"});
  settle();
  clock.advance(1s);
  settle();
  const int before = changes;
  for (int i = 0; i < 100; ++i) {
    clock.advance(1ms);
    module->events.health("gpu-0", Health{.state = HealthState::kDegraded, .message = fmt::format("{} degrees", i)});
    settle();
  }
  EXPECT_LE(changes, before + 1);
  clock.advance(1s);
  settle();
  EXPECT_LE(changes, before + 2);
  EXPECT_EQ(last_change, SupervisorEvent::kHealthText) << "slices need not be compared";
  EXPECT_EQ(supervisor.health(device()).health.message, "99 degrees");
}

TEST_F(SupervisorHealthTest, AModuleThatRescansInALoopListsItsDevicesOnceInAWhile) {
  module->rescans_in_discover = true;
  settle();
  for (int i = 0; i < 1000; ++i) {
    clock.advance(10ms);
    settle();
  }
  EXPECT_GE(module->count<DiscoverCall>(), 12) << "a burst is free";
  EXPECT_LE(module->count<DiscoverCall>(), 18) << "then once in 2 s";
  module->rescans_in_discover = false;
  clock.advance(30s);
  settle();
  const int before = module->count<DiscoverCall>();
  module->events.rescan();
  settle();
  clock.advance(20ms);
  settle();
  EXPECT_EQ(module->count<DiscoverCall>(), before + 1) << "at once after a pause";
}

TEST_F(SupervisorHealthTest, AModuleThatRescansInItsDiscoverIsStillChecked) {
  module->about.has_check = true;
  module->rescans_in_discover = true;
  settle();
  for (int i = 0; i < 32; ++i) {
    clock.advance(1s);
    settle();
  }
  EXPECT_GT(module->count<DiscoverCall>(), 10);
  EXPECT_EQ(module->count<CheckCall>(), 1);
  module->rescans_in_discover = false;
  clock.advance(1s);
}

class StuckDeviceTest : public SupervisorFixture {
 protected:
  StuckDeviceTest() {
    module->devices.devices.push_back(
        Device{.id = "gpu-0.1", .name = "gpu-0-1", .kind = "partition", .parent_id = "gpu-0"});
    module->devices.devices.push_back(Device{.id = "gpu-1", .name = "gpu-1", .kind = "gpu"});
    settle();
    for (const Device& device : supervisor.snapshot()->devices)
      module->events.health(device.id, Health{.state = HealthState::kHealthy});
    settle();
    for (int i = 0; i < 2; ++i) {  // until the reports are delivered
      clock.advance(1s);
      settle();
    }
  }
  void get_stuck() {
    stuck["gpu-0"] = {{.state = HealthState::kUnhealthy,
                       .reason = "Stuck",
                       .message = "in a reset",
                       .taint = TaintEffect::kNoSchedule,
                       .cause = "Stuck"},
                      clock.wall()};
    supervisor.stuck_changed();
    settle();
  }
  DeviceHealth of(std::size_t index) { return supervisor.health(supervisor.snapshot()->devices[index]); }
};

TEST_F(StuckDeviceTest, TheDeviceAndItsPartitionsAreUnhealthyAtOnceUntilItIsFree) {
  const int before = changes;
  get_stuck();
  EXPECT_EQ(changes, before + 1);
  for (const std::size_t index : {0u, 1u}) {
    EXPECT_EQ(of(index).health.reason, "Stuck");
    EXPECT_EQ(strongest_taint(of(index).causes), TaintEffect::kNoSchedule);
    EXPECT_EQ(of(index).causes.size(), 2u) << "the module's cause stays";
    EXPECT_EQ(supervisor.reported_health(supervisor.snapshot()->devices[index]).health.reason, "Stuck");
  }
  EXPECT_EQ(of(2).health.state, HealthState::kHealthy);
  stuck.clear();
  clock.advance(1s);
  supervisor.stuck_changed();
  settle();
  EXPECT_EQ(changes, before + 2);
  EXPECT_EQ(of(0).health.state, HealthState::kHealthy);
}

TEST_F(StuckDeviceTest, ItIsSaidAlsoWhileTheModuleIsAway) {
  get_stuck();
  module->events.lost(Error{Code::kUnavailable, "its worker exited"});
  settle();
  EXPECT_EQ(of(0).health.reason, "Stuck");
  EXPECT_EQ(of(2).health.reason, "ModuleAway");
}

TEST_F(StuckDeviceTest, TheHostsCauseReplacesOneOfTheModuleWithItsName) {
  module->events.health(
      "gpu-0", Health{.state = HealthState::kUnhealthy, .reason = "Fan", .message = "3 rpm", .cause = "Stuck"});
  get_stuck();
  EXPECT_EQ(of(0).causes.size(), 2u);
  EXPECT_EQ(of(0).health.message, "in a reset");
  stuck.clear();
  EXPECT_EQ(of(0).health.reason, "Fan");
}

}  // namespace
}  // namespace cardcage
