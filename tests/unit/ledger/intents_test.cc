#include "host/ledger/intents.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "host/core/file.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/small_disk.h"
#include "tests/unit/ledger/records.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const WallTime kNow(std::chrono::seconds(1'800'000'000));

class IntentsTest : public ::testing::Test {
 protected:
  Intents open(const std::string& boot = kBoot) {
    auto intents = Intents::open(file_, boot, kNow);
    EXPECT_TRUE(intents) << (intents ? "" : intents.error().message);
    return std::move(*intents);
  }
  static Status set(Intents& intents, const ClaimRecord& record) {
    return intents.set(std::make_shared<const ClaimRecord>(record));
  }
  static std::vector<ClaimRecord> records(const Intents& intents) {
    std::vector<ClaimRecord> all;
    for (const auto& [key, entry] : intents.entries()) all.push_back(*entry.record);
    return all;
  }
  std::string content() const { return read_file(file_, 1 << 24).value_or(""); }

  ScratchFolder folder_;
  const std::filesystem::path file_ = folder_ / "run" / "intents";
  const std::filesystem::path successor_ = folder_ / "run" / ".intents.tmp";
  const std::filesystem::path aside_ = folder_ / "run" / "intents.damaged-20270115T080000Z";
};

TEST_F(IntentsTest, RecordsSurviveAReopen) {
  {
    Intents intents = open();
    ASSERT_TRUE(set(intents, a_full_record("u1")));
    ASSERT_TRUE(set(intents, an_intent("u2")));
    ASSERT_TRUE(set(intents, an_intent("u2", 2)));
    ASSERT_TRUE(set(intents, an_intent("u3", 3)));
    intents.clear({{kDriver, "u3"}});
    intents.clear({{kDriver, "never"}});
  }
  EXPECT_THAT(records(open()), ElementsAre(a_full_record("u1"), an_intent("u2", 2)));
}

TEST_F(IntentsTest, AReleaseKeepsItsTimeAndIsReplacedByALaterIntent) {
  const auto released = [](const Intents& intents, const std::string& uid) {
    return intents.entries().at({kDriver, uid}).released;
  };
  {
    Intents intents = open();
    for (const char* uid : {"u1", "u2"})
      ASSERT_TRUE(intents.set_released(std::make_shared<const ClaimRecord>(a_full_record(uid)), kNow));
    ASSERT_TRUE(set(intents, an_intent("u2", 2)));
  }
  {
    const Intents intents = open();
    EXPECT_THAT(records(intents), ElementsAre(a_full_record("u1"), an_intent("u2", 2)));
    EXPECT_EQ(released(intents, "u1"), kNow);
    EXPECT_EQ(released(intents, "u2"), std::nullopt);
  }
  EXPECT_EQ(released(open(), "u1"), kNow) << "opening rewrites the file";
}

TEST_F(IntentsTest, AreDroppedAfterAReboot) {
  {
    Intents opened = open();
    ASSERT_TRUE(set(opened, an_intent("u1")));
  }
  EXPECT_THAT(records(open("boot-2")), IsEmpty());
  EXPECT_THAT(records(open()), IsEmpty()) << "and does not come back";
}

TEST_F(IntentsTest, TheFileIsPrivate) {
  Intents opened = open();
  ASSERT_TRUE(set(opened, an_intent("u1")));
  struct stat about{};
  ASSERT_EQ(::stat(file_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
}

TEST_F(IntentsTest, ATruncatedLineDoesNotCount) {
  {
    Intents intents = open();
    ASSERT_TRUE(set(intents, an_intent("u1")));
    ASSERT_TRUE(set(intents, an_intent("u2", 2)));
  }
  std::filesystem::resize_file(file_, std::filesystem::file_size(file_) - 5);
  EXPECT_THAT(records(open()), ElementsAre(an_intent("u1")));
  EXPECT_FALSE(std::filesystem::exists(aside_));
  EXPECT_THAT(records(open()), ElementsAre(an_intent("u1"))) << "it is removed completely";
}

TEST_F(IntentsTest, ReadableLinesOfADamagedFileCount) {
  {
    Intents intents = open();
    ASSERT_TRUE(set(intents, an_intent("u1")));
    std::ofstream(file_, std::ios::app) << "\n+{\"driver\":7}\nnonsense\n~soon {}\n~12\n";
    ASSERT_TRUE(set(intents, an_intent("u2", 2)));
  }
  EXPECT_THAT(records(open()), ElementsAre(an_intent("u1"), an_intent("u2", 2)));
  EXPECT_THAT(read_file(aside_, 1 << 20).value(), HasSubstr("nonsense"));
  EXPECT_THAT(content(), ::testing::Not(HasSubstr("nonsense")));
}

TEST_F(IntentsTest, TheFileStaysShort) {
  Intents intents = open();
  ClaimRecord large = an_intent("large");
  large.parts[0].state.assign(64 << 10, 's');
  ASSERT_TRUE(set(intents, an_intent("stays")));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(set(intents, large));
    intents.clear({large.key()});
  }
  EXPECT_LT(content().size(), 2u << 20);
  EXPECT_THAT(records(intents), ElementsAre(an_intent("stays")));
}

// Each change does only a part of a rewrite.
TEST_F(IntentsTest, ALongFileIsShortenedInSteps) {
  const auto large = [](int n, char with) {
    ClaimRecord record = an_intent(fmt::format("u{:03}", n), n);
    record.parts[0].state.assign(48 << 10, with);
    return record;
  };
  {
    Intents intents = open();
    for (int n = 0; n < 40; ++n) ASSERT_TRUE(set(intents, large(n, 'a')));
    for (const bool begun : {false, true})  // the one that may be in progress ends first
      for (int i = 0; i < 1000 && std::filesystem::exists(successor_) != begun; ++i)
        ASSERT_TRUE(set(intents, large(20, 'b')));
    ASSERT_TRUE(std::filesystem::exists(successor_));
    EXPECT_LT(std::filesystem::file_size(successor_), 1u << 20);
    ASSERT_TRUE(set(intents, large(0, 'c'))) << "this entry was already copied";
    ASSERT_TRUE(set(intents, large(39, 'c')));
    intents.clear({large(1, 'a').key()});
    intents.clear({large(38, 'a').key()});
    ASSERT_TRUE(std::filesystem::exists(successor_)) << "it is not complete yet";
    for (int i = 0; i < 1000 && std::filesystem::exists(successor_); ++i) ASSERT_TRUE(set(intents, large(2, 'd')));
    EXPECT_LT(std::filesystem::file_size(file_), intents.bytes() * 3 / 2);
    EXPECT_THAT(records(intents), SizeIs(38));
  }
  const Intents again = open();
  const auto state = [&](int n) { return again.entries().at(large(n, 'a').key()).record->parts[0].state[0]; };
  EXPECT_THAT(records(again), SizeIs(38));
  EXPECT_EQ(std::string({state(0), state(2), state(3), state(20), state(39)}), "cdabc");
}

TEST_F(IntentsTest, NoCallFailsBecauseTheFileCannotBeShortened) {
  ClaimRecord large = an_intent("large");
  large.parts[0].state.assign(64 << 10, 's');
  {
    Intents intents = open();
    std::filesystem::create_directory(successor_);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(set(intents, large));
    ASSERT_TRUE(set(intents, an_intent("u1")));
    EXPECT_GT(content().size(), 6u << 20);
  }
  {
    Intents again = open();
    EXPECT_THAT(records(again), ElementsAre(large, an_intent("u1"))) << "a start can read it";
    ASSERT_TRUE(set(again, an_intent("u2", 2)));
    std::filesystem::remove(successor_);
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(set(again, large));
    EXPECT_LT(content().size(), 4u << 20) << "and is shortened as soon as possible";
  }
  EXPECT_THAT(records(open()), ElementsAre(large, an_intent("u1"), an_intent("u2", 2)));
}

// An earlier daemon wrote it while its disk hung.
TEST_F(IntentsTest, AFileOfAnySizeIsRead) {
  {
    Intents intents = open();
    ASSERT_TRUE(set(intents, an_intent("u1")));
  }
  std::filesystem::resize_file(file_, 257u << 20);
  EXPECT_THAT(records(open()), ElementsAre(an_intent("u1")));
  EXPECT_LT(std::filesystem::file_size(file_), 1u << 20);
}

TEST_F(IntentsTest, AreWrittenAgainAfterTheirFolderWasRemoved) {
  {
    Intents intents = open();
    ASSERT_TRUE(set(intents, an_intent("u1")));
    std::filesystem::remove_all(file_.parent_path());
    ASSERT_TRUE(intents.restore());
    EXPECT_THAT(content(), HasSubstr("u1"));
    const auto second = Intents::open(file_, kBoot, kNow);
    ASSERT_FALSE(second) << "the new folder is locked as well";
    EXPECT_EQ(second.error().code, Code::kAborted);
    std::filesystem::remove_all(file_.parent_path());
    ASSERT_TRUE(set(intents, an_intent("u2", 2))) << "noticed at the next change at the latest";
    std::filesystem::remove(file_);
    intents.clear({{kDriver, "u1"}});
  }
  EXPECT_THAT(records(open()), ElementsAre(an_intent("u2", 2)));
}

TEST_F(IntentsTest, AreNotWrittenIntoAFolderThatAnotherHostUses) {
  Intents intents = open();
  std::filesystem::remove_all(file_.parent_path());
  const Intents other = open();
  const Status refused = set(intents, an_intent("u1"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kAborted);
}

TEST_F(IntentsTest, ASecondHostIsRefused) {
  const Intents first = open();
  const auto second = Intents::open(file_, kBoot, kNow);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kAborted);
  EXPECT_THAT(second.error().message, HasSubstr("run_dir"));
}

TEST_F(IntentsTest, AFullDiskIsAnErrorWithoutOtherDamage) {
  SmallDisk disk(folder_ / "small", "size=512k");
  if (!disk.works()) GTEST_SKIP() << "needs to be able to mount";
  auto intents = Intents::open(disk.path() / "intents", kBoot, kNow);
  ASSERT_TRUE(intents);
  ASSERT_TRUE(set(*intents, an_intent("u1")));
  disk.fill();
  ClaimRecord large = an_intent("large");
  large.parts[0].state.assign(64 << 10, 's');
  const Status refused = set(*intents, large);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("run_dir"));
  disk.free();
  ASSERT_TRUE(set(*intents, an_intent("u2", 2)));
  EXPECT_THAT(records(*intents), SizeIs(2));
  intents = fail(Code::kCancelled, "the process ended");
  EXPECT_THAT(records(*Intents::open(disk.path() / "intents", kBoot, kNow)),
              ElementsAre(an_intent("u1"), an_intent("u2", 2)));
}

TEST_F(IntentsTest, AReadOnlyFolderIsReportedWithItsRemedy) {
  const ReadOnlyFolder read_only(folder_ / "read-only");
  if (!read_only.works()) GTEST_SKIP() << "needs to be able to mount or not to be root";
  const auto intents = Intents::open(read_only.path() / "intents", kBoot, kNow);
  ASSERT_FALSE(intents);
  EXPECT_THAT(intents.error().message, HasSubstr("set [node] run_dir to one that is"));
}

}  // namespace
}  // namespace cardcage
