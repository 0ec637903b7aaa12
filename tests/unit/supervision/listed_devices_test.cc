// What modules say about the causes of a device's health. The other tests of ListedDevices go through a supervisor.
#include "host/supervision/listed_devices.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "host/core/log.h"
#include "tests/fakes/fake_clock.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ListedDevicesTest : public ::testing::Test {
 protected:
  ListedDevicesTest() {
    devices.begin_discover();
    devices.adopt(list());
    divert_log([this](LogLevel, std::string_view message, std::initializer_list<LogField> fields) {
      std::string line(message);
      for (const LogField& field : fields)
        if (field.name == "cause") line += fmt::format(" [{}]", field.value);
      lines.push_back(line);
    });
  }
  ~ListedDevicesTest() override { divert_log({}); }

  static SnapshotPtr list(Health health = {}) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->devices = {{.id = "gpu-0", .name = "gpu-0", .health = std::move(health)}};
    return snapshot;
  }
  static Health ok(const std::string& cause, std::chrono::seconds timeout = 0s) {
    return {.state = HealthState::kHealthy, .timeout = timeout, .cause = cause};
  }
  static Health bad(const std::string& cause, TaintEffect taint = TaintEffect::kNone) {
    return {.state = HealthState::kUnhealthy, .reason = cause + "Error", .taint = taint, .cause = cause};
  }
  bool note(const Health& health) { return devices.note("gpu-0", health); }
  Health now() const { return devices.health("gpu-0").health; }
  std::vector<std::string> causes() const {
    std::vector<std::string> names;
    for (const CauseHealth& cause : devices.health("gpu-0").causes) names.push_back(cause.health.cause);
    return names;
  }

  // The log knows which lines it has written: each test is a module of its own.
  const std::string module = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  FakeClock clock;
  ListedDevices devices{module, clock};
  std::vector<std::string> lines;
};

TEST_F(ListedDevicesTest, ADeviceWithoutAStatementIsUnknown) {
  EXPECT_EQ(now(), Health{});
  EXPECT_THAT(causes(), IsEmpty());
  EXPECT_EQ(devices.health("gpu-0").changed, clock.wall());
}

TEST_F(ListedDevicesTest, AGoodCauseNeverMasksABadOne) {
  EXPECT_TRUE(note(bad("Ecc")));
  EXPECT_TRUE(note(ok("Thermal")));
  EXPECT_TRUE(note(ok("")));
  EXPECT_EQ(now().state, HealthState::kUnhealthy);
  EXPECT_THAT(causes(), ElementsAre("Ecc", "", "Thermal"));
  EXPECT_TRUE(note(ok("Ecc")));
  EXPECT_EQ(now().state, HealthState::kHealthy);
  EXPECT_FALSE(note(ok("Ecc"))) << "nothing new";
}

TEST_F(ListedDevicesTest, ASnapshotReplacesOnlyItsOwnCause) {
  note(bad("Ecc"));
  devices.adopt(list(bad("")));
  EXPECT_THAT(causes(), ElementsAre("", "Ecc"));
  devices.adopt(list(ok("")));
  EXPECT_EQ(now().reason, "EccError");
  devices.adopt(list(ok("Ecc")));
  EXPECT_EQ(now().state, HealthState::kHealthy);
}

TEST_F(ListedDevicesTest, EachCauseFallsSilentByItself) {
  note(ok("Thermal", 10s));
  note(ok("Ecc", 30s));
  note(ok(""));
  clock.advance(10s);
  EXPECT_TRUE(devices.look_for_silence());
  EXPECT_EQ(now(), (Health{.reason = "Silent", .message = "no report about Thermal for 10 s", .cause = "Thermal"}));
  EXPECT_EQ(devices.next_silence(), clock.now() + 20s);
  note(ok("Thermal", 10s));
  EXPECT_EQ(now().state, HealthState::kHealthy);
  clock.advance(10s);
  EXPECT_TRUE(devices.look_for_silence());
  clock.advance(10s);
  EXPECT_TRUE(devices.look_for_silence());
  EXPECT_THAT(causes(), ElementsAre("Ecc", "Thermal", ""));
  clock.advance(1h);
  EXPECT_FALSE(devices.look_for_silence()) << "nothing new";
}

TEST_F(ListedDevicesTest, OnlyATaintOutlastsSilence) {
  Health plain = bad("Ecc"), tainted = bad("Xid", TaintEffect::kInform);
  plain.timeout = tainted.timeout = 10s;
  note(plain);
  note(tainted);
  clock.advance(10s);
  EXPECT_EQ(now(), tainted);
  EXPECT_EQ(devices.health("gpu-0").causes.at(1).health.reason, "Silent");
}

TEST_F(ListedDevicesTest, WhileTheModuleIsAwayOnlyTaintsStay) {
  note(bad("Ecc"));
  note(bad("Xid", TaintEffect::kInform));
  note({.state = HealthState::kUnmonitored, .taint = TaintEffect::kInform, .cause = "Link"});
  CauseHealth away{{.reason = "Quiesced", .taint = TaintEffect::kNoSchedule, .cause = "Module"}, clock.wall()};
  const DeviceHealth health = devices.health("gpu-0", away);
  EXPECT_EQ(health.health.reason, "XidError");
  ASSERT_EQ(health.causes.size(), 3u);
  EXPECT_EQ(health.causes[1], away);
  EXPECT_EQ(health.causes[2].health.cause, "Link");
  note(bad("Xid", TaintEffect::kNoExecute));
  away.health.taint = TaintEffect::kNone;
  EXPECT_EQ(devices.health("gpu-0", CauseHealth(away)).causes.at(1), away) << "the module keeps claims away already";
}

TEST_F(ListedDevicesTest, ReportsAboutSeveralCausesWaitForTheList) {
  devices.begin_discover();
  note(bad("Ecc"));
  note(ok("Thermal"));
  devices.adopt(list(ok("Ecc")));
  EXPECT_EQ(now().reason, "EccError") << "it came while the list was made";
  EXPECT_FALSE(devices.note("gpu-9", bad("Ecc")));
  EXPECT_FALSE(devices.note("gpu-9", ok("Thermal")));
  auto longer = std::make_shared<Snapshot>(*list());
  longer->devices.push_back({.id = "gpu-9", .name = "gpu-9"});
  devices.begin_discover();
  EXPECT_TRUE(devices.adopt(longer).health);
  EXPECT_EQ(devices.health("gpu-9").causes.size(), 2u);
}

TEST_F(ListedDevicesTest, AFloodOfCausesLosesNoBadOne) {
  note(bad("Ecc"));
  for (int i = 0; i < 1000; ++i) note(ok(fmt::format("Ok{}", i)));
  EXPECT_EQ(causes().size(), kMaxCauses);
  EXPECT_EQ(now().reason, "EccError");
  for (int i = 0; i < 1000; ++i) note(bad(fmt::format("Xid{}", i)));
  EXPECT_EQ(causes().size(), kMaxCauses);
  EXPECT_TRUE(note(ok("Ecc")));
  EXPECT_EQ(now().state, HealthState::kUnhealthy);
  EXPECT_LT(lines.size(), 40u);
  EXPECT_THAT(lines, ::testing::Contains(::testing::StartsWith(
                         "health report is ignored: the device has 16 causes that are no better; name causes for")));
}

TEST_F(ListedDevicesTest, LogsEachChangeOfACause) {
  note(ok("Thermal"));
  note(bad("Ecc"));
  note(bad("Xid"));
  note(ok("Ecc"));
  note(ok("Xid"));
  note({.state = HealthState::kUnmonitored, .cause = "Link"});
  note({.state = HealthState::kUnknown, .reason = "Odd", .cause = "Link"});
  EXPECT_THAT(lines, ElementsAre("device is unhealthy [Ecc]", "device is unhealthy [Xid]",
                                 "one cause of the device's health is over, others remain [Ecc]",
                                 "device is healthy again [Xid]", "device is not monitored [Link]",
                                 "health of the device is unknown [Link]"));
}

TEST_F(ListedDevicesTest, ReportsOfDevicesThatAreNotListedAreBoundedInBytes) {
  Health long_text = bad("Ecc");
  long_text.message.assign(kMaxHealthMessage, 'm');
  const std::size_t too_many = 2 * KeptHealth::kMaxBytes / kMaxHealthMessage / kMaxCauses;
  for (std::size_t i = 0; i < too_many; ++i)
    for (std::size_t cause = 0; cause < kMaxCauses; ++cause) {
      long_text.cause = fmt::format("Cause{}", cause);
      devices.note(fmt::format("made-up-{}", i), long_text);
    }
  auto all = std::make_shared<Snapshot>();
  for (std::size_t i = 0; i < too_many; ++i) {
    const std::string id = fmt::format("made-up-{}", i);
    all->devices.push_back({.id = id, .name = id});
  }
  devices.begin_discover();
  devices.adopt(all);
  std::size_t kept = 0;
  for (const Device& device : all->devices) kept += devices.health(device.id).causes.size();
  EXPECT_GT(kept, 0u);
  EXPECT_LE(kept * kMaxHealthMessage, KeptHealth::kMaxBytes);
}

}  // namespace
}  // namespace cardcage
