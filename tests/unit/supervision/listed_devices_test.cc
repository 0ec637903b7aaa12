// Statements that wait for the list with their device. ModuleHealth decides which of them count.
#include "host/supervision/listed_devices.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_health_store.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

class ListedDevicesTest : public ::testing::Test {
 protected:
  ListedDevicesTest() {
    devices.begin_discover();
    devices.adopt(list({"gpu-0"}));
  }

  static SnapshotPtr list(const std::vector<std::string>& ids, const Health& stated = {}) {
    auto snapshot = std::make_shared<Snapshot>();
    for (const std::string& id : ids) snapshot->devices.push_back({.id = id, .name = id, .health = stated});
    return snapshot;
  }
  static Health ok(const std::string& cause) { return {.state = HealthState::kHealthy, .cause = cause}; }
  static Health bad(const std::string& cause) {
    return {.state = HealthState::kUnhealthy, .reason = cause + "Error", .cause = cause};
  }
  HealthNews note(const std::string& id, const Health& stated) {
    clock.advance(1ms);
    return devices.note(id, stated);
  }
  DeviceHealth health_of(const std::string& id) const { return health.health(*devices.snapshot()->find(id)); }

  // The log remembers the lines that it has written, so each test is a module of its own.
  const std::string module = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  FakeClock clock;
  FakeHealthStore store;
  ModuleHealth health{module, clock, store, [](const HealthEvent&) {}};
  ListedDevices devices{module, clock, health};
};

TEST_F(ListedDevicesTest, AStatementAboutAListedDeviceCountsAtOnce) {
  EXPECT_EQ(note("gpu-0", bad("Ecc")), HealthNews::kState);
  EXPECT_EQ(health_of("gpu-0").health.reason, "EccError");
  EXPECT_EQ(note("gpu-0", bad("Ecc")), HealthNews::kNone);
}

TEST_F(ListedDevicesTest, DevicesThatAreGoneAreLogged) {
  devices.adopt(list({"gpu-0", "gpu-1", "gpu-2"}));
  ::testing::internal::CaptureStderr();
  devices.adopt(list({"gpu-1"}));
  const std::string line = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(line, ::testing::HasSubstr("devices are gone: the module does not list them any more"));
  EXPECT_THAT(line, ::testing::HasSubstr("gone=\"gpu-0, gpu-2\""));
}

TEST_F(ListedDevicesTest, AStatementThatComesWhileAListIsMadeOverridesIt) {
  devices.begin_discover();
  note("gpu-0", bad("Ecc"));
  note("gpu-0", ok("Thermal"));
  clock.advance(1ms);
  devices.adopt(list({"gpu-0"}, ok("Ecc")));
  EXPECT_EQ(health_of("gpu-0").health.reason, "EccError");
}

TEST_F(ListedDevicesTest, StatementsWaitForTheListThatHasTheirDevice) {
  EXPECT_EQ(note("gpu-9", bad("Ecc")), HealthNews::kNone);
  EXPECT_EQ(note("gpu-9", ok("Thermal")), HealthNews::kNone);
  devices.begin_discover();
  const auto changes = devices.adopt(list({"gpu-0", "gpu-9"}));
  EXPECT_TRUE(changes.list);
  EXPECT_TRUE(changes.health);
  EXPECT_EQ(health_of("gpu-9").health.reason, "EccError");
  EXPECT_EQ(health_of("gpu-9").causes.size(), 2u);
}

TEST_F(ListedDevicesTest, AFailedListForgetsThoseThatWaited) {
  note("gpu-9", bad("Ecc"));
  devices.begin_discover();
  devices.fail_discover();
  devices.begin_discover();
  devices.adopt(list({"gpu-0", "gpu-9"}));
  EXPECT_TRUE(health_of("gpu-9").causes.empty());
}

TEST_F(ListedDevicesTest, TheFirstRequestForARescanSaysSinceWhen) {
  EXPECT_FALSE(devices.rescan_requested());
  devices.request_rescan();
  const Instant first = clock.now();
  clock.advance(1s);
  devices.request_rescan();
  EXPECT_EQ(devices.rescan_requested(), first);
  EXPECT_EQ(devices.rescan_requests(), 2u);
  devices.begin_discover();
  EXPECT_FALSE(devices.rescan_requested());
}

TEST_F(ListedDevicesTest, WhatWaitsIsBoundedInBytes) {
  Health long_text = bad("Ecc");
  long_text.message.assign(kMaxHealthMessage, 'm');
  const std::size_t too_many = 2 * KeptHealth::kMaxBytes / kMaxHealthMessage / kMaxCauses;
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < too_many; ++i) {
    ids.push_back(fmt::format("made-up-{}", i));
    for (std::size_t cause = 0; cause < kMaxCauses; ++cause) {
      long_text.cause = fmt::format("Cause{}", cause);
      note(ids.back(), long_text);
    }
  }
  std::ranges::sort(ids);
  devices.begin_discover();
  devices.adopt(list(ids));
  std::size_t kept = 0;
  for (const std::string& id : ids) kept += health_of(id).causes.size();
  EXPECT_GT(kept, 0u);
  EXPECT_LE(kept * kMaxHealthMessage, KeptHealth::kMaxBytes);
}

}  // namespace
}  // namespace cardcage
