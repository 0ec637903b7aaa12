// A damaged file of the ledger: the records that still count, and those that are rebuilt from CDI files.
#include <gmock/gmock.h>

#include <fstream>

#include "host/cdi/writer.h"
#include "host/core/file.h"
#include "tests/unit/ledger/ledger_fixture.h"

namespace cardcage {
namespace {

using ::testing::SizeIs;

// Ways to damage the file. The claims are rebuilt from the CDI files.
struct Damage {
  const char* name;
  void (*inflict)(const std::filesystem::path& file);
  bool set_aside = true;
  friend void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.name; }
};
class DamagedLedgerTest : public LedgerFixture, public ::testing::WithParamInterface<Damage> {};

void change(const std::filesystem::path& file, const std::string& statements) {
  auto database = sqlite::Database::open(file);
  ASSERT_TRUE(database);
  ASSERT_TRUE((*database)->execute(statements));
}

INSTANTIATE_TEST_SUITE_P(
    Damages, DamagedLedgerTest,
    ::testing::Values(
        Damage{"Garbage", [](const auto& file) { std::ofstream(file) << std::string(10'000, 'g'); }},
        Damage{"Torn", [](const auto& file) { std::filesystem::resize_file(file, 5'000); }},
        Damage{"Scribbled",
               [](const auto& file) {
                 std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
                 stream.seekp(4096) << std::string(16'384, '\x5a');
               }},
        Damage{"OfSomethingElse",
               [](const auto& file) {
                 std::filesystem::remove(file);
                 change(file, "CREATE TABLE songs(title)");
               }},
        Damage{"WithoutATable", [](const auto& file) { change(file, "DROP TABLE parts"); }},
        Damage{"WithABadRow", [](const auto& file) { change(file, "UPDATE parts SET content='{\"devices\":7}'"); },
               false},
        Damage{"WithoutTheClaimsRow", [](const auto& file) { change(file, "DELETE FROM claims"); }, false},
        Damage{"Empty", [](const auto& file) { std::filesystem::resize_file(file, 0); }, false},
        Damage{"Gone", [](const auto& file) { std::filesystem::remove(file); }, false}),
    [](const auto& each) { return std::string(each.param.name); });

using DamagedRowsTest = LedgerFixture;

TEST_P(DamagedLedgerTest, IsSetAsideAndRebuiltFromCdiFiles) {
  const std::string share = "5b2c9f1e-0000-4000-8000-000000000001";
  ClaimRecord record = a_record("u1");
  record.parts[0].devices[0].allocation.share_id = share;
  record.parts[0].devices[0].cdi_name = cdi_device_name("u1", "gpu-0", share);
  const CdiWriter cdi(folder_ / "cdi");
  ASSERT_TRUE(cdi.write(kDriver, "u1", cdi_spec(record)));
  ASSERT_TRUE(
      write_file_atomically(folder_ / "cdi" / claim_file_name({Api::kDra, kDriver}, "broken"), "{", 0644, false));
  ASSERT_TRUE(put(*open(), record));
  GetParam().inflict(folder_ / "ledger.db");
  {
    auto ledger = open();
    ASSERT_NE(ledger, nullptr);
    EXPECT_TRUE(ledger->rebuilt());
    ASSERT_THAT(ledger->claims(), SizeIs(1));
    const auto rebuilt = ledger->find({kDriver, "u1"});
    ASSERT_NE(rebuilt, nullptr);
    EXPECT_EQ(rebuilt->phase, ClaimPhase::kPreparing) << "in doubt: the module prepares it again";
    EXPECT_EQ(cdi_spec(*rebuilt), cdi_spec(record));
    EXPECT_EQ(rebuilt->parts[0].devices[0].allocation.device, "gpu-0");
    EXPECT_EQ(rebuilt->parts[0].devices[0].allocation.share_id, share);
    EXPECT_THAT(ledger->holders("gpus", "GPU-0", kDriver, "gpu-0"), SizeIs(1)) << "the device is not free";
    EXPECT_THAT(files_aside(), SizeIs(GetParam().set_aside ? 1 : 0));
    ASSERT_TRUE(put(*ledger, a_record("u2", 2)));
  }
  auto again = open();
  EXPECT_FALSE(again->rebuilt());
  EXPECT_THAT(again->claims(), SizeIs(2)) << "the rebuilt claims are in the new file";
}

TEST_F(DamagedRowsTest, ADamagedRowCostsOnlyItsClaim) {
  {
    auto ledger = open();
    ASSERT_TRUE(put(*ledger, a_record("bad")));
    ASSERT_TRUE(put(*ledger, a_full_record("good")));
    ASSERT_TRUE(put(*ledger, a_record("past")));
    ASSERT_TRUE(ledger->release({kDriver, "past"}, kLater));
  }
  const CdiWriter cdi(folder_ / "cdi");
  for (const char* uid : {"bad", "good", "gone"}) ASSERT_TRUE(cdi.write(kDriver, uid, cdi_spec(a_record(uid))));
  change(folder_ / "ledger.db", "UPDATE parts SET content='{' WHERE uid='bad'");
  {
    auto ledger = open();
    ASSERT_NE(ledger, nullptr);
    EXPECT_TRUE(ledger->rebuilt());
    EXPECT_EQ(*ledger->find({kDriver, "good"}), a_full_record("good"));
    EXPECT_EQ(ledger->find({kDriver, "bad"})->phase, ClaimPhase::kPreparing)
        << "in doubt: the module prepares it again";
    EXPECT_EQ(ledger->find({kDriver, "gone"}), nullptr) << "no other claim is rebuilt";
    EXPECT_THAT(run(ledger->history({})).value(), SizeIs(1));
    EXPECT_THAT(files_aside(), SizeIs(0));
  }
  auto database = sqlite::Database::open(folder_ / "ledger.db");
  ASSERT_TRUE(database);
  EXPECT_EQ((*database)->text("SELECT content FROM damaged_parts WHERE uid='bad'"), "{") << "kept for an operator";
  database = fail(Code::kCancelled, "closed");
  EXPECT_FALSE(open()->rebuilt());
}

TEST_F(DamagedRowsTest, ATornLogLosesOnlyItsTail) {
  run_until_killed([&](Ledger& ledger) {
    for (const char* uid : {"u1", "u2"}) {
      (void)put(ledger, a_record(uid));
      write(ledger);
    }
  });
  std::filesystem::remove(options().intents);
  const auto log = folder_ / "ledger.db-wal";
  std::filesystem::resize_file(log, std::filesystem::file_size(log) - 100);
  auto ledger = open();
  EXPECT_NE(ledger->find({kDriver, "u1"}), nullptr);
  EXPECT_EQ(ledger->find({kDriver, "u2"}), nullptr);
  EXPECT_THAT(files_aside(), SizeIs(0));
}

}  // namespace
}  // namespace cardcage
