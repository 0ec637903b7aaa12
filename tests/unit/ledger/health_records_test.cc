#include "host/ledger/health_records.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "host/ledger/ledger.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/small_disk.h"
#include "tests/unit/ledger/records.h"
#include "tests/unit/ledger/sync_counter.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const WallTime kStart(std::chrono::milliseconds(1'800'000'000'001));
const DeviceKey kGpu{"gpus", "GPU-0"};

CauseRecord a_cause(const std::string& cause = "Xid79", const DeviceKey& device = kGpu) {
  return {.device = device,
          .health = {.state = HealthState::kUnhealthy, .reason = "FellOffTheBus", .message = "gone", .cause = cause},
          .changed = kStart,
          .stated = kStart + 5ms,
          .relapses = {},
          .quarantined = false};
}

CauseRecord a_full_cause() {
  CauseRecord record = a_cause("Temperature");
  record.health.timeout = 90s;
  record.health.taint = TaintEffect::kNoExecute;
  record.health.taint_key = "example.com/hot";
  record.health.taint_value = "very";
  record.health.value = 93.25;
  record.relapses = {kStart - 2h, kStart - 1h};
  record.quarantined = true;
  return record;
}

CordonRecord a_cordon(const DeviceKey& device = kGpu) {
  return {.device = device, .name = "gpu-0", .by = "uid 0", .reason = "fan replaced", .since = kStart};
}

HealthEvent an_event(int n, const DeviceKey& device = kGpu) {
  return {.time = kStart + n * 1s,
          .kind = HealthEventKind::kBegan,
          .device = device,
          .name = "gpu-0",
          .cause = "Xid79",
          .state = HealthState::kUnhealthy,
          .reason = "FellOffTheBus",
          .message = std::to_string(n),
          .by = ""};
}

class HealthRecordsTest : public CoreFixture {
 protected:
  LedgerOptions options(const std::filesystem::path& folder) {
    return {.file = folder / "ledger.db",
            .intents = folder_ / "intents",
            .cdi_folder = folder_ / "cdi",
            .boot_id = kBoot,
            .history = {},
            .fault = {}};
  }
  LedgerOptions options() { return options(folder_.path()); }
  std::unique_ptr<Ledger> open() { return open(options()); }
  std::unique_ptr<Ledger> open(LedgerOptions with) {
    auto ledger = Ledger::open(core, clock, std::move(with));
    EXPECT_TRUE(ledger) << (ledger ? "" : ledger.error().message);
    return ledger ? std::move(*ledger) : nullptr;
  }
  void execute(const std::string& statements) {
    auto database = sqlite::Database::open(folder_ / "ledger.db");
    ASSERT_TRUE(database);
    const Status executed = (*database)->execute(statements);
    ASSERT_TRUE(executed) << executed.error().message;
  }
  std::vector<std::string> history(Ledger& ledger, HealthQuery query = {}) {
    const auto events = run(ledger.health().health_history(std::move(query)));
    EXPECT_TRUE(events);
    std::vector<std::string> messages;
    if (events)
      for (const HealthEvent& event : *events) messages.push_back(event.message);
    return messages;
  }
  // Runs `act` in a process of its own, which kills itself when it reaches `point`.
  void killed_at(FaultPoint point, const std::function<void(Ledger&)>& act) {
    const pid_t child = ::fork();
    if (child == 0) {
      core.notify_fork(asio::io_context::fork_child);
      LedgerOptions mortal = options();
      mortal.fault = [point](FaultPoint at) {
        if (at == point) ::kill(::getpid(), SIGKILL);
      };
      auto ledger = Ledger::open(core, clock, mortal);
      if (ledger) act(**ledger);
      ::_exit(1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
  }

  SystemClock clock;
  ScratchFolder folder_;
};

TEST_F(HealthRecordsTest, AllOfItSurvivesAReopen) {
  HealthEvent event = an_event(1);
  event.kind = HealthEventKind::kResetFailed;
  event.state = HealthState::kDegraded;
  event.by = "remedy";
  const DeviceKey nic{"nics", "NIC-1"};
  {
    auto ledger = open();
    ledger->health().keep(a_full_cause());
    ledger->health().keep(a_cause("", nic));
    ledger->health().note(event);
    ASSERT_TRUE(run(ledger->health().keep(a_cordon())));
    ledger->health().keep(a_cause("Late"));
  }
  const auto ledger = open();
  HealthRecords& health = ledger->health();
  EXPECT_THAT(health.causes("gpus"), ElementsAre(a_cause("Late"), a_full_cause()));
  EXPECT_THAT(health.causes("nics"), ElementsAre(a_cause("", nic)));
  EXPECT_THAT(health.causes("gpu"), IsEmpty());
  EXPECT_THAT(health.cordons("gpus"), ElementsAre(a_cordon()));
  EXPECT_THAT(health.cordons("nics"), IsEmpty());
  EXPECT_THAT(run(health.health_history({})).value(), ElementsAre(event));
}

TEST_F(HealthRecordsTest, WhatIsForgottenStaysForgotten) {
  {
    auto ledger = open();
    ledger->health().keep(a_cause("One"));
    ledger->health().keep(a_cause("Two"));
    ASSERT_TRUE(run(ledger->health().keep(a_cordon())));
    ledger->health().forget(kGpu, "One");
    ledger->health().forget(kGpu, "Unheard");
    ASSERT_TRUE(run(ledger->health().forget_cordon(kGpu)));
    EXPECT_TRUE(run(ledger->health().forget_cordon(kGpu))) << "it is idempotent";
    EXPECT_THAT(ledger->health().causes("gpus"), ElementsAre(a_cause("Two")));
    EXPECT_THAT(ledger->health().cordons("gpus"), IsEmpty());
  }
  const auto ledger = open();
  EXPECT_THAT(ledger->health().causes("gpus"), ElementsAre(a_cause("Two")));
  EXPECT_THAT(ledger->health().cordons("gpus"), IsEmpty());
}

// A fault may end the node, so a worse state is synced.
TEST_F(HealthRecordsTest, WhatGotWorseIsSyncedAndWhatGotBetterIsNot) {
  const SyncCounter counter;
  auto ledger = open();
  ASSERT_TRUE(ledger->put(a_record("warm-up")));
  ASSERT_TRUE(run(ledger->history({})));  // a new log syncs its header once
  const auto syncs_of = [&](CauseRecord record) {
    const int before = counter.syncs();
    ledger->health().keep(std::move(record));
    EXPECT_TRUE(run(ledger->history({})));
    return counter.syncs() - before;
  };
  CauseRecord cause = a_cause();
  cause.health.state = HealthState::kDegraded;
  EXPECT_EQ(syncs_of(cause), 1) << "it begins";
  cause.health.message = "another text";
  EXPECT_EQ(syncs_of(cause), 0);
  cause.health.state = HealthState::kUnhealthy;
  EXPECT_EQ(syncs_of(cause), 1);
  cause.quarantined = true;
  EXPECT_EQ(syncs_of(cause), 1);
  cause.quarantined = false;
  cause.health.state = HealthState::kHealthy;
  EXPECT_EQ(syncs_of(cause), 0);
}

TEST_F(HealthRecordsTest, AnAttemptToResetIsOnTheDiskBeforeItCounts) {
  const SyncCounter counter;
  const ResetRecord first{kGpu, kStart}, second{kGpu, kStart + 1h}, next_day{{"nics", "NIC-1"}, kStart + 25h};
  {
    auto ledger = open();
    ASSERT_TRUE(run(ledger->health().keep(first)));
    const int syncs = counter.syncs();
    ASSERT_TRUE(run(ledger->health().keep(second)));
    EXPECT_EQ(counter.syncs(), syncs + 1);
    EXPECT_THAT(ledger->health().resets("gpus"), ElementsAre(first, second));
    EXPECT_THAT(ledger->health().resets("nics"), IsEmpty());
  }
  {
    auto ledger = open();
    EXPECT_THAT(ledger->health().resets("gpus"), ElementsAre(first, second));
    ASSERT_TRUE(run(ledger->health().keep(next_day)));
  }
  const auto ledger = open();
  EXPECT_THAT(ledger->health().resets("gpus"), ElementsAre(second)) << "those of the day before are gone";
  EXPECT_THAT(ledger->health().resets("nics"), ElementsAre(next_day));
}

TEST_F(HealthRecordsTest, ManyChangesBecomeOneTransactionWithoutASync) {
  const SyncCounter counter;
  auto ledger = open();
  CauseRecord cause = a_cause();
  ASSERT_TRUE(ledger->put(a_record("warm-up")));
  ledger->health().keep(cause);           // a new cause is synced
  ASSERT_TRUE(run(ledger->history({})));  // a new log syncs its header once
  const int syncs = counter.syncs();
  const auto before = ledger->transactions();
  for (int i = 0; i < 100; ++i) {
    cause.health.message = std::to_string(i);
    ledger->health().keep(cause);
    ledger->health().note(an_event(i));
  }
  EXPECT_THAT(ledger->health().causes("gpus"), ElementsAre(cause)) << "it counts at once";
  EXPECT_EQ(ledger->transactions(), before) << "no caller waits";
  EXPECT_TRUE(runs_until([&] { return ledger->transactions() > before; }));
  EXPECT_THAT(history(*ledger), SizeIs(100));
  EXPECT_EQ(ledger->transactions(), before + 1);
  ledger->health().keep(cause);
  EXPECT_FALSE(ledger->health().changed()) << "the cause is unchanged";
  EXPECT_EQ(counter.syncs(), syncs);
  ASSERT_TRUE(run(ledger->health().keep(a_cordon())));
  EXPECT_EQ(counter.syncs(), syncs + 1);
}

TEST_F(HealthRecordsTest, ACordonCountsOnceItIsWritten) {
  auto ledger = open();
  Task<Status> cordoning = ledger->health().keep(a_cordon());
  EXPECT_THAT(ledger->health().cordons("gpus"), IsEmpty());
  CordonRecord other = a_cordon();
  other.reason = "another reason";
  Task<Status> again = ledger->health().keep(other);
  ASSERT_TRUE(run(std::move(cordoning)));
  ASSERT_TRUE(run(std::move(again)));
  EXPECT_THAT(ledger->health().cordons("gpus"), ElementsAre(other)) << "the later one counts";
}

TEST_F(HealthRecordsTest, TheHistoryIsFilteredAndNewestFirst) {
  const DeviceKey other{"gpus", "GPU-1"}, nic{"nics", "GPU-0"};
  auto ledger = open();
  ledger->health().note(an_event(1));
  ledger->health().note(an_event(2, other));
  ledger->health().note(an_event(3, nic));
  HealthEvent nameless = an_event(4);
  nameless.name.clear();
  ledger->health().note(nameless);
  EXPECT_THAT(history(*ledger), ElementsAre("4", "3", "2", "1"));
  EXPECT_THAT(history(*ledger, {.device = "GPU-1", .module = ""}), ElementsAre("2"));
  EXPECT_THAT(history(*ledger, {.device = "gpu-0", .module = ""}), ElementsAre("3", "2", "1"))
      << "the name in Kubernetes";
  EXPECT_THAT(history(*ledger, {.device = "GPU-0", .module = "nics"}), ElementsAre("3"));
  EXPECT_THAT(history(*ledger, {.device = "", .module = "", .since = kStart + 3s}), ElementsAre("4", "3"));
  EXPECT_THAT(history(*ledger, {.device = "", .module = "", .since = {}, .limit = 2}), ElementsAre("4", "3"));
  EXPECT_THAT(history(*ledger, {.device = "' OR 1=1 --", .module = ""}), IsEmpty());
}

TEST_F(HealthRecordsTest, TheHistoryIsBoundedByRowsAndAge) {
  LedgerOptions bounded = options();
  bounded.health_history = {.rows = 3, .age = std::chrono::hours(1)};
  auto ledger = open(bounded);
  for (int i = 0; i < 5; ++i) ledger->health().note(an_event(i));
  EXPECT_THAT(history(*ledger), ElementsAre("4", "3", "2"));
  ledger->health().note(an_event(4000));
  EXPECT_THAT(history(*ledger), ElementsAre("4000"));
}

TEST_F(HealthRecordsTest, AFullDiskDoesNotStopIt) {
  SmallDisk disk(folder_ / "small", "size=512k");
  if (!disk.works()) GTEST_SKIP() << "needs to be able to mount";
  const CordonRecord cordon = a_cordon();
  CauseRecord cause = a_cause("Newer");
  {
    auto ledger = open(options(disk.path()));
    HealthRecords& health = ledger->health();
    health.keep(a_cause("Older"));
    ASSERT_TRUE(run(health.keep(cordon)));
    disk.fill();
    health.forget(kGpu, "Older");
    for (int i = 0; i < 1'500; ++i) {
      cause.health.message = std::string(500, static_cast<char>('a' + i % 26));
      health.keep(cause);
      health.note(an_event(i));
    }
    const Status refused = run(health.forget_cordon(kGpu));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
    EXPECT_EQ(ledger->last_error(), refused.error());
    EXPECT_THAT(health.cordons("gpus"), ElementsAre(cordon)) << "as on the disk";
    EXPECT_THAT(health.causes("gpus"), ElementsAre(cause)) << "it still counts";
    EXPECT_FALSE(health.changed()) << "it does not try again in a loop";
    cause.health.message = "the last word";
    health.keep(cause);
    disk.free();
    EXPECT_THAT(history(*ledger, {.device = "", .module = "", .since = {}, .limit = 10'000}), SizeIs(1'000))
        << "the newest ones";
    EXPECT_EQ(ledger->last_error(), std::nullopt);
  }
  const auto ledger = open(options(disk.path()));
  EXPECT_THAT(ledger->health().causes("gpus"), ElementsAre(cause));
  EXPECT_THAT(ledger->health().cordons("gpus"), ElementsAre(cordon));
}

// On a nearly full disk, transactions of claims need less room than the waiting health records.
TEST_F(HealthRecordsTest, WhatDoesNotFitCostsNoClaimItsTransaction) {
  SmallDisk disk(folder_ / "small", "size=512k");
  if (!disk.works()) GTEST_SKIP() << "needs to be able to mount";
  auto ledger = open(options(disk.path()));
  for (int i = 0; i < 1'000; ++i) {
    HealthEvent event = an_event(i);
    event.message = std::string(1024, 'm');
    ledger->health().note(event);
  }
  ledger->note(a_record("u1"));
  Task<Status> cordoning = ledger->health().keep(a_cordon());
  ASSERT_TRUE(ledger->put(a_record("u2", 2)));
  const Status cordoned = run(std::move(cordoning));
  ASSERT_FALSE(cordoned);
  EXPECT_EQ(cordoned.error().code, Code::kResourceExhausted);
  EXPECT_THAT(ledger->health().cordons("gpus"), IsEmpty());
  EXPECT_NE(ledger->find({kDriver, "u1"}), nullptr);
  ledger.reset();
  EXPECT_THAT(open(options(disk.path()))->claims(), SizeIs(2));
}

TEST_F(HealthRecordsTest, ManyCausesThatCameAndWentOnAFullDiskAreForgotten) {
  SmallDisk disk(folder_ / "small", "size=1m");
  if (!disk.works()) GTEST_SKIP() << "needs to be able to mount";
  {
    auto ledger = open(options(disk.path()));
    ledger->health().keep(a_cause("First"));
    ASSERT_TRUE(run(ledger->health().keep(a_cordon())));
    disk.fill();
    for (int i = 0; i < 12'000; ++i) {
      ledger->health().keep(a_cause(fmt::format("Cause{}", i)));
      ledger->health().forget(kGpu, fmt::format("Cause{}", i));
    }
    ledger->health().forget(kGpu, "First");
    ledger->health().keep(a_cause("Last"));
    EXPECT_FALSE(run(ledger->health().keep(a_cordon())));
    disk.free();
    ledger->health().keep(a_cause("Really"));
    ASSERT_TRUE(run(ledger->health().keep(a_cordon())));
  }
  const auto ledger = open(options(disk.path()));
  EXPECT_THAT(ledger->health().causes("gpus"), ElementsAre(a_cause("Last"), a_cause("Really")));
}

TEST_F(HealthRecordsTest, AKillBeforeTheCommitLosesItAndOneAfterItDoesNot) {
  const auto act = [&](Ledger& ledger) {
    ledger.note(a_record("u1"));
    ledger.health().keep(a_cause());
    ledger.health().note(an_event(1));
    (void)run(ledger.health().keep(a_cordon()));
  };
  killed_at(FaultPoint::kBeforeCommit, act);
  {
    const auto ledger = open();
    EXPECT_THAT(ledger->health().causes("gpus"), IsEmpty());
    EXPECT_THAT(ledger->health().cordons("gpus"), IsEmpty());
    EXPECT_THAT(history(*ledger), IsEmpty());
  }
  killed_at(FaultPoint::kAfterCommit, act);
  const auto ledger = open();
  EXPECT_THAT(ledger->health().causes("gpus"), ElementsAre(a_cause()));
  EXPECT_THAT(ledger->health().cordons("gpus"), ElementsAre(a_cordon()));
  EXPECT_THAT(history(*ledger), ElementsAre("1"));
}

// Version 2 knew only claims and their history.
TEST_F(HealthRecordsTest, ALedgerOfTheSecondVersionIsMigrated) {
  ASSERT_TRUE(open()->put(a_full_record("u1")));
  execute("DROP TABLE health_causes; DROP TABLE health_cordons; DROP TABLE health_history; PRAGMA user_version=2");
  {
    auto ledger = open();
    EXPECT_FALSE(ledger->rebuilt());
    EXPECT_EQ(*ledger->find({kDriver, "u1"}), a_full_record("u1"));
    EXPECT_THAT(ledger->health().causes("gpus"), IsEmpty());
    ledger->health().keep(a_cause());
    ASSERT_TRUE(run(ledger->health().keep(a_cordon())));
  }
  const auto ledger = open();
  EXPECT_THAT(ledger->health().causes("gpus"), ElementsAre(a_cause()));
  EXPECT_THAT(ledger->health().cordons("gpus"), ElementsAre(a_cordon()));
}

TEST_F(HealthRecordsTest, IsServedAnewWhenTheFileIsDamaged) {
  {
    auto ledger = open();
    ledger->health().keep(a_cause());
    ASSERT_TRUE(run(ledger->health().keep(a_cordon())));
  }
  std::ofstream(folder_ / "ledger.db") << std::string(10'000, 'g');
  auto ledger = open();
  ASSERT_TRUE(ledger->rebuilt());
  EXPECT_THAT(ledger->health().causes("gpus"), IsEmpty());
  EXPECT_THAT(ledger->health().cordons("gpus"), IsEmpty());
  EXPECT_TRUE(run(ledger->health().keep(a_cordon())));
}

TEST_F(HealthRecordsTest, ALedgerWithoutATableOfHealthIsSetAside) {
  open().reset();
  execute("DROP TABLE health_cordons");
  EXPECT_TRUE(open()->rebuilt());
}

TEST_F(HealthRecordsTest, NumbersOutOfRangeAreBounded) {
  {
    auto ledger = open();
    ledger->health().note(an_event(1));
    ledger->health().keep(a_full_cause());
    EXPECT_THAT(history(*ledger), SizeIs(1));
  }
  execute(
      "UPDATE health_causes SET state=99, taint=-4, timeout_s=9223372036854775807, changed_ms=-1,"
      " stated_ms=9223372036854775807, relapses_ms='[9223372036854775807, ', value='hot';"
      "UPDATE health_history SET kind=200, state=-7, time_ms=9223372036854775807");
  const auto ledger = open();
  const auto causes = ledger->health().causes("gpus");
  ASSERT_THAT(causes, SizeIs(1));
  EXPECT_EQ(causes[0].health.state, HealthState::kDegraded);
  EXPECT_EQ(causes[0].health.taint, TaintEffect::kNone);
  EXPECT_EQ(causes[0].health.timeout, kMaxHealthTimeout);
  EXPECT_EQ(causes[0].changed, WallTime{});
  EXPECT_THAT(causes[0].relapses, IsEmpty());
  EXPECT_TRUE(causes[0].quarantined);
  const auto events = run(ledger->health().health_history({}));
  ASSERT_TRUE(events);
  ASSERT_THAT(*events, SizeIs(1));
  EXPECT_EQ(events->front().kind, HealthEventKind::kResetFailed);
  EXPECT_EQ(events->front().state, HealthState::kUnknown);
}

TEST_F(HealthRecordsTest, AValueThatIsNotANumberIsKeptAsNone) {
  CauseRecord cause = a_cause();
  cause.health.value = std::nan("");
  {
    auto ledger = open();
    ledger->health().keep(cause);
  }
  EXPECT_EQ(open()->health().causes("gpus").at(0).health.value, std::nullopt);
}

}  // namespace
}  // namespace cardcage
