#include "host/ledger/ledger.h"

#include <gmock/gmock.h>

#include <fstream>

#include "host/core/file.h"
#include "host/model/change_counters.h"
#include "tests/fakes/small_disk.h"
#include "tests/unit/ledger/ledger_fixture.h"
#include "tests/unit/ledger/sync_counter.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using LedgerTest = LedgerFixture;

TEST_F(LedgerTest, RecordsSurviveAReopen) {
  const ClaimRecord full = a_full_record("u1");
  {
    auto ledger = open();
    ASSERT_TRUE(put(*ledger, full));
    ASSERT_TRUE(put(*ledger, a_record("u2", 2)));
    ASSERT_TRUE(put(*ledger, a_record("u2", 3))) << "replaces the parts too";
  }
  auto ledger = open();
  ASSERT_THAT(ledger->claims(), SizeIs(2));
  EXPECT_EQ(*ledger->find({kDriver, "u1"}), full);
  EXPECT_EQ(*ledger->find({kDriver, "u2"}), a_record("u2", 3));
  EXPECT_FALSE(ledger->rebuilt());
}

TEST_F(LedgerTest, TwoDriversMayHoldTheSameClaim) {
  auto ledger = open();
  ClaimRecord other = a_record("u1");
  other.driver = "nic.example.com";
  ASSERT_TRUE(put(*ledger, a_record("u1")));
  ASSERT_TRUE(put(*ledger, other));
  ASSERT_TRUE(ledger->release({kDriver, "u1"}, kLater));
  EXPECT_EQ(ledger->find({kDriver, "u1"}), nullptr);
  EXPECT_EQ(*ledger->find({"nic.example.com", "u1"}), other);
}

TEST_F(LedgerTest, ADeviceIsHeldAndFreeAtOnce) {
  auto ledger = open();
  const auto holders = [&] { return ledger->holders("gpus", "GPU-0", kDriver, "gpu-0").size(); };
  ASSERT_TRUE(put(*ledger, a_record("u1")));
  EXPECT_EQ(holders(), 1u);
  ASSERT_TRUE(ledger->release({kDriver, "u1"}, kLater));
  EXPECT_EQ(holders(), 0u);
  EXPECT_TRUE(ledger->release({kDriver, "u1"}, kLater)) << "releasing is idempotent";
  EXPECT_EQ(ledger->transactions(), 0u) << "no caller waits for the file";
}

TEST_F(LedgerTest, TellsWhatChanges) {
  ChangeCounters changes;
  LedgerOptions with_changes = options();
  with_changes.changes = &changes;
  auto ledger = open(with_changes);
  const auto claims = [&] { return changes.count(Section::kClaims); };
  const auto history = [&] { return changes.count(Section::kHistory); };
  ASSERT_TRUE(put(*ledger, a_record("u1")));
  EXPECT_GT(claims(), 0u);
  EXPECT_EQ(history(), 0u);
  const std::uint32_t prepared = claims();
  ASSERT_TRUE(ledger->release({kDriver, "u1"}, kLater));
  EXPECT_GT(claims(), prepared);
  EXPECT_EQ(history(), 1u);
  ASSERT_TRUE(ledger->release({kDriver, "u1"}, kLater));
  EXPECT_EQ(history(), 1u) << "there was nothing to release";
}

TEST_F(LedgerTest, ChangesOfSomeMillisecondsShareATransaction) {
  auto ledger = open();
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(put(*ledger, a_record(fmt::format("u{}", i), i)));
  runs_until([&] { return ledger->transactions() == 1; });
  write(*ledger);
  EXPECT_EQ(ledger->transactions(), 1u);
  EXPECT_THAT(ledger->claims(), SizeIs(64));
}

TEST_F(LedgerTest, OnlyChangesThatMustSurviveTheNodeAreSynced) {
  const SyncCounter counter;
  auto ledger = open();
  ASSERT_TRUE(put(*ledger, a_record("warm-up")));
  write(*ledger);  // a new log syncs its header once
  auto syncs = [&, before = counter.syncs()]() mutable {
    write(*ledger);
    return counter.syncs() - std::exchange(before, counter.syncs());
  };
  ASSERT_TRUE(ledger->intend(an_intent("u1")));
  EXPECT_EQ(syncs(), 0);
  ASSERT_TRUE(put(*ledger, a_record("u1")));
  EXPECT_EQ(syncs(), 1);
  ledger->note(a_record("u1", 2));
  EXPECT_EQ(syncs(), 0);
  ASSERT_TRUE(ledger->put(a_record("u2", 2), Durability::kProcess));
  ASSERT_TRUE(ledger->release({kDriver, "u2"}, kLater, Durability::kProcess));
  EXPECT_EQ(syncs(), 0);
  ASSERT_TRUE(ledger->release({kDriver, "u1"}, kLater));
  EXPECT_EQ(syncs(), 1);
}

TEST_F(LedgerTest, EveryChangeSurvivesAKilledProcess) {
  ClaimRecord undoing = a_full_record("u1");
  undoing.phase = ClaimPhase::kUnpreparing;
  put(*open(), a_record("u3", 3));
  run_until_killed([&](Ledger& ledger) {
    (void)ledger.intend(undoing);
    (void)ledger.put(a_record("u2", 2));
    (void)ledger.release({kDriver, "u3"}, kLater);
  });
  {
    const auto ledger = open();
    ASSERT_THAT(ledger->claims(), SizeIs(2));
    EXPECT_EQ(*ledger->find({kDriver, "u1"}), undoing);
    EXPECT_EQ(*ledger->find({kDriver, "u2"}), a_record("u2", 2));
    EXPECT_THAT(ledger->holders("gpus", "GPU-1", kDriver, "gpu-0"), SizeIs(1));
    EXPECT_THAT(run(ledger->history({})).value(), SizeIs(1)) << "the released claim";
  }
  const auto intents = Intents::open(options().intents, kBoot, clock.wall());
  ASSERT_TRUE(intents);
  EXPECT_THAT(intents->entries(), SizeIs(1)) << "only one claim is in doubt";
}

// The process may be killed after it wrote to the file and before it removed the entry.
TEST_F(LedgerTest, AnEntryThatIsInTheFileAlreadyChangesNothing) {
  {
    auto ledger = open();
    ASSERT_TRUE(put(*ledger, a_record("u1")));
    ASSERT_TRUE(put(*ledger, a_record("u2", 2)));
    ASSERT_TRUE(ledger->release({kDriver, "u2"}, kLater));
  }
  {
    auto intents = Intents::open(options().intents, kBoot, clock.wall());
    ASSERT_TRUE(intents);
    ASSERT_TRUE(intents->set(std::make_shared<const ClaimRecord>(a_record("u1"))));
    ASSERT_TRUE(intents->set_released(std::make_shared<const ClaimRecord>(a_record("u2", 2)), kLater));
  }
  const auto ledger = open();
  ASSERT_THAT(ledger->claims(), SizeIs(1));
  EXPECT_EQ(*ledger->find({kDriver, "u1"}), a_record("u1"));
  EXPECT_THAT(run(ledger->history({})).value(), SizeIs(1)) << "no second row";
}

TEST_F(LedgerTest, AClaimInDoubtStaysSoWhateverTheFileSays) {
  ClaimRecord undoing = a_record("u1"), again = an_intent("u2", 3);
  undoing.phase = ClaimPhase::kUnpreparing;
  {
    auto ledger = open();
    ASSERT_TRUE(put(*ledger, a_record("u1")));
    ClaimRecord before_reboot = a_record("u2", 2);
    before_reboot.boot_id = "boot-0";
    ASSERT_TRUE(put(*ledger, before_reboot));
    ASSERT_TRUE(ledger->intend(undoing)) << "the file does not have the record yet";
    write(*ledger);
    ASSERT_TRUE(ledger->intend(again));
  }
  auto ledger = open();
  EXPECT_EQ(*ledger->find({kDriver, "u1"}), undoing);
  EXPECT_EQ(*ledger->find({kDriver, "u2"}), again) << "prepared again after a reboot";
  ASSERT_TRUE(ledger->release({kDriver, "u1"}, kLater));
  ASSERT_TRUE(put(*ledger, a_record("u2")));
  ledger.reset();
  const auto intents = Intents::open(options().intents, kBoot, clock.wall());
  ASSERT_TRUE(intents);
  EXPECT_THAT(intents->entries(), SizeIs(0)) << "no claim is in doubt any more";
}

TEST_F(LedgerTest, ANoteIsVisibleAtOnceAndWrittenBeforeTheLedgerCloses) {
  {
    auto ledger = open();
    ledger->note(a_record("u1"));
    EXPECT_EQ(*ledger->find({kDriver, "u1"}), a_record("u1"));
    EXPECT_EQ(ledger->transactions(), 0u) << "no caller waits";
    runs_until([&] { return ledger->transactions() == 1; });
    ledger->note(a_record("u2", 2));
  }
  const auto ledger = open();
  EXPECT_EQ(*ledger->find({kDriver, "u1"}), a_record("u1"));
  EXPECT_EQ(*ledger->find({kDriver, "u2"}), a_record("u2", 2));
}

TEST_F(LedgerTest, HistoryTellsWhoHeldADeviceAndForHowLong) {
  auto ledger = open();
  ASSERT_TRUE(put(*ledger, a_record("u1")));
  ClaimRecord never = a_record("u2", 2);
  never.phase = ClaimPhase::kPreparing;
  never.prepared = {};
  ASSERT_TRUE(put(*ledger, never));
  ASSERT_TRUE(ledger->release({kDriver, "u1"}, kLater));
  ASSERT_TRUE(ledger->release({kDriver, "u2"}, kLater));
  const auto all = run(ledger->history({}));
  ASSERT_TRUE(all);
  ASSERT_THAT(*all, SizeIs(1)) << "a claim that was never prepared is not in the history";
  const HistoryEntry& entry = all->front();
  EXPECT_EQ(entry.ref, (ClaimRef{"team", "claim-u1", "u1"}));
  EXPECT_EQ(entry.module + "/" + entry.pool + "/" + entry.device + "/" + entry.request, "gpus/node/gpu-0/main/sub");
  EXPECT_EQ(entry.held(), std::chrono::minutes(1));
  const auto matches = [&](HistoryQuery query) { return run(ledger->history(std::move(query)))->size(); };
  EXPECT_EQ(matches({.claim = "u1", .driver = "", .device = ""}), 1u);
  EXPECT_EQ(matches({.claim = "claim-u1", .driver = kDriver, .device = "gpu-0"}), 1u);
  EXPECT_EQ(matches({.claim = "team/claim-u1", .driver = "", .device = "", .since = kLater}), 1u);
  EXPECT_EQ(matches({.claim = "other/claim-u1", .driver = "", .device = ""}), 0u);
  EXPECT_EQ(matches({.claim = "", .driver = "", .device = "gpu-1"}), 0u);
  EXPECT_EQ(matches({.claim = "", .driver = "", .device = "", .since = kLater + std::chrono::seconds(1)}), 0u);
}

TEST_F(LedgerTest, HistoryIsBoundedByRowsAndAge) {
  LedgerOptions bounded = options();
  bounded.history = {.rows = 3, .age = std::chrono::hours(1)};
  auto ledger = open(bounded);
  const auto devices = [&] {
    std::vector<std::string> names;
    const auto entries = run(ledger->history({}));
    for (const HistoryEntry& entry : *entries) names.push_back(entry.device);
    return names;
  };
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(put(*ledger, a_record("u", i)));
    ASSERT_TRUE(ledger->release({kDriver, "u"}, kLater));
  }
  EXPECT_THAT(devices(), ElementsAre("gpu-4", "gpu-3", "gpu-2"));
  ASSERT_TRUE(put(*ledger, a_record("u", 9)));
  ASSERT_TRUE(ledger->release({kDriver, "u"}, kLater + std::chrono::hours(2)));
  EXPECT_THAT(devices(), ElementsAre("gpu-9"));
}

TEST_F(LedgerTest, WhatAFullDiskRefusesIsWrittenOnceThereIsSpace) {
  SmallDisk disk(folder_ / "small", "size=512k");
  if (!disk.works()) GTEST_SKIP() << "needs to be able to mount";
  LedgerOptions small = options();
  small.file = disk.path() / "ledger.db";
  {
    auto ledger = open(small);
    ASSERT_TRUE(put(*ledger, a_record("old")));
    write(*ledger);
    disk.fill();
    ClaimRecord large = a_record("new", 1);
    large.parts[0].state.assign(200'000, 's');
    ASSERT_TRUE(put(*ledger, large)) << "the memory of the node has it";
    ASSERT_TRUE(ledger->release({kDriver, "old"}, kLater));
    runs_until([&] { return ledger->last_error().has_value(); });
    EXPECT_EQ(ledger->last_error()->code, Code::kResourceExhausted);
    EXPECT_THAT(ledger->last_error()->message, HasSubstr("free space"));
    EXPECT_EQ(*ledger->find({kDriver, "new"}), large);
    EXPECT_EQ(ledger->find({kDriver, "old"}), nullptr);
    disk.free();
    runs_until([&] { return !ledger->last_error(); });
    EXPECT_THAT(run(ledger->history({})).value(), SizeIs(1));
  }
  std::filesystem::remove(options().intents);
  auto again = open(small);
  ASSERT_THAT(again->claims(), SizeIs(1));
  EXPECT_NE(again->find({kDriver, "new"}), nullptr);
}

TEST_F(LedgerTest, ADiskThatStaysFullEndsInRefusals) {
  SmallDisk disk(folder_ / "small", "size=512k");
  if (!disk.works()) GTEST_SKIP() << "needs to be able to mount";
  LedgerOptions small = options();
  small.file = disk.path() / "ledger.db";
  auto ledger = open(small);
  ASSERT_TRUE(put(*ledger, a_record("old")));
  write(*ledger);
  disk.fill();
  Status accepted;
  int count = 0;
  for (; accepted && count < 5000; ++count) {
    const std::string uid = fmt::format("u{}", count);
    accepted = ledger->intend(an_intent(uid, count));
    if (accepted) accepted = put(*ledger, a_record(uid, count));
    if (count % 500 == 499) runs_until([&] { return ledger->last_error().has_value(); });
  }
  ASSERT_FALSE(accepted);
  EXPECT_GT(count, 1000);
  EXPECT_THAT(accepted.error().message, HasSubstr("changes wait for the ledger"));
  EXPECT_THAT(accepted.error().message, HasSubstr("free space"));
  ClaimRecord undoing = a_record("old");
  undoing.phase = ClaimPhase::kUnpreparing;
  EXPECT_TRUE(ledger->intend(undoing)) << "pods can still end";
  disk.free();
}

TEST_F(LedgerTest, ASecondHostIsRefused) {
  auto first = open();
  const Error error = open_error();
  EXPECT_EQ(error.code, Code::kAborted);
  EXPECT_THAT(error.message, HasSubstr("another cardcage"));
  first.reset();
  EXPECT_NE(open(), nullptr);
}

TEST_F(LedgerTest, ANewerSchemaIsRefusedAndLeftUnchanged) {
  open().reset();
  auto database = sqlite::Database::open(folder_ / "ledger.db");
  ASSERT_TRUE((*database)->execute("PRAGMA user_version=99"));
  database->reset();
  const Error error = open_error();
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
  EXPECT_THAT(error.message, HasSubstr("has schema 99"));
  EXPECT_THAT(error.message, HasSubstr("run the newer cardcage again"));
  EXPECT_THAT(files_aside(), SizeIs(0));
}

TEST_F(LedgerTest, ANewerSchemaThatOnlyGrewIsUsed) {
  put(*open(), a_full_record("u1"));
  const auto read = [&](const char* query) {
    const auto database = sqlite::Database::open(folder_ / "ledger.db");
    return database ? (*database)->integer(query).value_or(-1) : -1;
  };
  const std::int64_t known = read("SELECT version FROM schema_version");
  {
    auto database = sqlite::Database::open(folder_ / "ledger.db");
    ASSERT_TRUE((*database)->execute(
        fmt::format("UPDATE schema_version SET version={}; PRAGMA user_version={}; CREATE TABLE later(x);"
                    "ALTER TABLE claims ADD COLUMN weight INTEGER NOT NULL DEFAULT 7;"
                    "ALTER TABLE parts ADD COLUMN weight INTEGER NOT NULL DEFAULT 7;"
                    "ALTER TABLE history ADD COLUMN weight INTEGER NOT NULL DEFAULT 7;"
                    "ALTER TABLE health_causes ADD COLUMN weight INTEGER NOT NULL DEFAULT 7;"
                    "ALTER TABLE health_cordons ADD COLUMN weight INTEGER NOT NULL DEFAULT 7;"
                    "ALTER TABLE health_resets ADD COLUMN weight INTEGER NOT NULL DEFAULT 7;",
                    known + 1, known)));
  }
  {
    auto ledger = open();
    ASSERT_NE(ledger, nullptr);
    EXPECT_FALSE(ledger->rebuilt());
    EXPECT_EQ(*ledger->find({kDriver, "u1"}), a_full_record("u1"));
    ASSERT_TRUE(put(*ledger, a_record("u2", 2)));
    ASSERT_TRUE(ledger->release({kDriver, "u1"}, kLater));
    ledger->health().keep(CauseRecord{.device = {"gpus", "GPU-2"}, .health = {.cause = "Link"}});
    ASSERT_TRUE(run(ledger->health().keep(CordonRecord{.device = {"gpus", "GPU-2"}})));
    ASSERT_TRUE(run(ledger->health().keep(ResetRecord{{"gpus", "GPU-2"}, kLater})));
    EXPECT_EQ(ledger->last_error(), std::nullopt);
  }
  EXPECT_EQ(read("SELECT version FROM schema_version"), known + 1) << "the newer daemon starts from there";
  EXPECT_EQ(read("SELECT weight FROM claims"), 7);
}

// The first released versions know schema 3, and refuse a file whose user_version is greater.
TEST_F(LedgerTest, TheFirstVersionsCanStillUseTheFile) {
  open().reset();
  const auto database = sqlite::Database::open(folder_ / "ledger.db");
  EXPECT_EQ((*database)->integer("PRAGMA user_version").value(), 3);
}

// Version 1 had the same tables of claims with a rowid.
TEST_F(LedgerTest, ALedgerOfTheFirstVersionIsMigrated) {
  const ClaimRecord full = a_full_record("u1");
  {
    auto ledger = open();
    ASSERT_TRUE(put(*ledger, full));
    ASSERT_TRUE(put(*ledger, a_record("u2", 2)));
  }
  auto database = sqlite::Database::open(folder_ / "ledger.db");
  ASSERT_TRUE(
      (*database)->execute("CREATE TABLE a AS SELECT * FROM claims; DROP TABLE claims; ALTER TABLE a RENAME TO "
                           "claims; CREATE TABLE b AS SELECT * FROM parts; DROP TABLE parts; ALTER TABLE b "
                           "RENAME TO parts; DROP TABLE health_causes; DROP TABLE health_cordons; DROP TABLE "
                           "health_history; PRAGMA user_version=1"));
  database->reset();
  const auto ledger = open();
  EXPECT_EQ(ledger->claims().size(), 2u);
  EXPECT_EQ(*ledger->find({kDriver, "u1"}), full);
  EXPECT_EQ(*ledger->find({kDriver, "u2"}), a_record("u2", 2));
  EXPECT_TRUE(put(*ledger, a_record("u2", 3))) << "the primary key works";
  EXPECT_EQ(ledger->claims().size(), 2u);
}

TEST_F(LedgerTest, MigrationStopsAtAnErrorWithoutHalfAStep) {
  auto database = sqlite::Database::open(folder_ / "other.db");
  ASSERT_TRUE(database);
  const SchemaStep steps[] = {{"CREATE TABLE a(x)", 1},
                              {"INSERT INTO a VALUES(1); ALTER TABLE a ADD COLUMN y DEFAULT 5", 2},
                              {"UPDATE a SET x=2; no sql", 3}};
  ASSERT_TRUE(LedgerStore::migrate(**database, std::span(steps).first(1)));
  ASSERT_TRUE(LedgerStore::migrate(**database, std::span(steps).first(2)));
  ASSERT_TRUE(LedgerStore::migrate(**database, std::span(steps).first(2))) << "all steps are done";
  EXPECT_EQ((*database)->integer("SELECT x+y FROM a").value(), 6);
  const auto failed = LedgerStore::migrate(**database, steps);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("from schema 2 to 3"));
  EXPECT_EQ((*database)->integer("SELECT x FROM a").value(), 1);
  EXPECT_EQ((*database)->integer("PRAGMA user_version").value(), 2);
}

TEST_F(LedgerTest, TheFileIsPrivate) {
  auto ledger = open();
  ASSERT_TRUE(put(*ledger, a_record("u1")));
  write(*ledger);
  for (const char* name : {"ledger.db", "ledger.db-wal"})
    EXPECT_EQ(std::filesystem::status(folder_ / name).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)
        << name;
}

TEST_F(LedgerTest, AReadOnlyFolderIsReportedWithItsRemedy) {
  const ReadOnlyFolder read_only(folder_ / "read-only");
  if (!read_only.works()) GTEST_SKIP() << "needs to be able to mount or not to be root";
  LedgerOptions with = options();
  with.file = read_only.path() / "ledger.db";
  const auto ledger = Ledger::open(core, clock, with);
  ASSERT_FALSE(ledger);
  EXPECT_EQ(ledger.error().code, Code::kPermissionDenied);
  EXPECT_THAT(ledger.error().message, HasSubstr(with.file.native()));
  EXPECT_THAT(ledger.error().message, HasSubstr("state_dir"));
}

TEST_F(LedgerTest, ReadsTheKernelsBootId) {
  const auto id = read_boot_id();
  ASSERT_TRUE(id);
  EXPECT_THAT(*id, SizeIs(36));
}

}  // namespace
}  // namespace cardcage
