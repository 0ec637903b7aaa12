// A disk below the ledger that hangs instead of failing.
#include <gmock/gmock.h>

#include "tests/fakes/fake_clock.h"
#include "tests/unit/ledger/hanging_disk.h"
#include "tests/unit/ledger/ledger_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class HungDiskTest : public LedgerFixture {
 protected:
  std::unique_ptr<Ledger> open_stepped() {
    auto ledger = Ledger::open(core, time_, options());
    EXPECT_TRUE(ledger) << (ledger ? "" : ledger.error().message);
    return ledger ? std::move(*ledger) : nullptr;
  }
  void step(Duration duration) {
    time_.advance(duration);
    settle();
  }
  // Waits for the writing thread.
  bool all_is_written(Ledger& ledger) {
    const auto is_written = [&] {
      time_.advance(10ms);
      return ledger.unwritten() == 0;
    };
    for (int i = 0; i < 10; ++i)
      if (runs_until(is_written)) return true;
    return false;
  }
  static ClaimRecord unpreparing(const std::string& uid) {
    ClaimRecord record = a_record(uid);
    record.phase = ClaimPhase::kUnpreparing;
    return record;
  }

  FakeClock time_;
  HangingDisk disk_;
};

TEST_F(HungDiskTest, NoFurtherClaimIsPreparedAfterSeconds) {
  auto ledger = open_stepped();
  ASSERT_TRUE(ledger->put(a_record("old")));
  ASSERT_TRUE(all_is_written(*ledger));
  disk_.hang();
  ASSERT_TRUE(ledger->put(a_record("u1", 1)));
  step(10ms);
  step(4s);
  EXPECT_EQ(ledger->refusal(), std::nullopt);
  ASSERT_TRUE(ledger->intend(an_intent("u2", 2))) << "the disk may only be busy";
  step(2s);
  const Status refused = ledger->intend(an_intent("u3", 3));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("its disk has not finished an access for 6 s"));
  EXPECT_THAT(refused.error().message, HasSubstr("repair the disk"));
  ASSERT_TRUE(ledger->last_error()) << "status and metrics show it";
  EXPECT_TRUE(ledger->intend(an_intent("u2", 2))) << "a call that runs may note more";
  EXPECT_TRUE(ledger->put(a_record("u2", 2)));
  EXPECT_TRUE(ledger->intend(unpreparing("old"))) << "pods can still end";
  EXPECT_TRUE(ledger->release({kDriver, "old"}, kLater));
  EXPECT_FALSE(run(ledger->history({}))) << "operators do not wait either";
  EXPECT_FALSE(run(ledger->health().forget_cordon({"gpus", "GPU-0"})));
  disk_.recover();
  ASSERT_TRUE(all_is_written(*ledger));
  EXPECT_EQ(ledger->refusal(), std::nullopt);
  EXPECT_EQ(ledger->last_error(), std::nullopt);
  EXPECT_TRUE(ledger->intend(an_intent("u3", 3))) << "without a restart";
  EXPECT_THAT(run(ledger->history({})).value(), SizeIs(1));
  ledger.reset();
  std::filesystem::remove(options().intents);
  EXPECT_THAT(open()->claims(), SizeIs(2));
}

TEST_F(HungDiskTest, AnOperatorWhoAskedBeforeIsToldAfterSeconds) {
  auto ledger = open_stepped();
  disk_.hang();
  ASSERT_TRUE(ledger->put(a_record("u1")));
  step(10ms);
  std::optional<Result<std::vector<HistoryEntry>>> told;
  spawn(core, [](Ledger& from, HistoryQuery query, auto& to) -> Task<void> {
    to = co_await from.history(std::move(query));
  }(*ledger, {}, told));
  settle();
  EXPECT_FALSE(told);
  step(5s);
  ASSERT_TRUE(told);
  EXPECT_FALSE(*told);
  disk_.recover();
  ASSERT_TRUE(all_is_written(*ledger));
}

TEST_F(HungDiskTest, ACordonThatFailedDoesNotCountLater) {
  const CordonRecord cordon{.device = {"gpus", "GPU-0"}, .name = "gpu-0", .by = "alice", .reason = "", .since = {}};
  {
    auto ledger = open_stepped();
    disk_.hang();
    std::optional<Status> told;
    spawn(core, [](Task<Status> cordoning, auto& to) -> Task<void> {
      to = co_await std::move(cordoning);
    }(ledger->health().keep(cordon), told));
    settle();
    EXPECT_FALSE(told);
    step(5s);
    ASSERT_TRUE(told);
    EXPECT_THAT(told->error().message, HasSubstr("has not finished an access for 5 s"));
    disk_.recover();
    ASSERT_TRUE(runs_until([&] {
      time_.advance(10ms);
      return ledger->transactions() == 2;
    }));
    EXPECT_THAT(ledger->health().cordons("gpus"), IsEmpty());
  }
  EXPECT_THAT(open()->health().cordons("gpus"), IsEmpty());
}

TEST_F(HungDiskTest, TheJournalIsBoundedByBytes) {
  auto ledger = open_stepped();
  ASSERT_TRUE(ledger->put(a_record("old")));
  Status accepted;
  int count = 0;
  for (; accepted && count < 5000; ++count) {
    ClaimRecord large = an_intent(fmt::format("u{}", count), count);
    large.parts[0].journal.assign(64 << 10, 'j');
    accepted = ledger->intend(std::move(large));
  }
  ASSERT_FALSE(accepted);
  EXPECT_GT(count, 100);
  EXPECT_THAT(accepted.error().message, HasSubstr("MiB of changes wait for ledger"));
  EXPECT_LT(std::filesystem::file_size(options().intents), 40u << 20);
  EXPECT_TRUE(ledger->intend(unpreparing("old"))) << "pods can still end";
  EXPECT_TRUE(ledger->release({kDriver, "old"}, kLater));
  EXPECT_TRUE(ledger->release({kDriver, "u0"}, kLater));
  ASSERT_TRUE(all_is_written(*ledger));
  EXPECT_EQ(ledger->refusal(), std::nullopt);
}

TEST_F(HungDiskTest, OnlyTheLastStateOfAClaimWaits) {
  auto ledger = open_stepped();
  disk_.hang();
  ASSERT_TRUE(ledger->put(a_record("u1")));
  step(10ms);
  for (int i = 0; i < 100; ++i) {
    ClaimRecord record = a_record("u1", i);
    ledger->note(record, {HistoryEntry{.driver = kDriver, .ref = record.ref, .released = kLater}});
  }
  EXPECT_EQ(ledger->unwritten(), 2u);
  ASSERT_TRUE(ledger->put(a_record("u2", 2)));
  ledger->note(a_record("u2", 3));
  EXPECT_EQ(ledger->unwritten(), 3u);
  disk_.recover();
  ASSERT_TRUE(all_is_written(*ledger));
  EXPECT_THAT(run(ledger->history({})).value(), SizeIs(100)) << "no holder is lost";
  ledger.reset();
  ledger = open();
  EXPECT_EQ(*ledger->find({kDriver, "u1"}), a_record("u1", 99));
  EXPECT_EQ(*ledger->find({kDriver, "u2"}), a_record("u2", 3)) << "the journal no longer counts";
}

}  // namespace
}  // namespace cardcage
