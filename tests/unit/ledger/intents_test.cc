#include "host/ledger/intents.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "host/core/file.h"
#include "tests/fakes/scratch_folder.h"
#include "tests/fakes/small_disk.h"
#include "tests/unit/ledger/records.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class IntentsTest : public ::testing::Test {
 protected:
  Intents open(const std::string& boot = kBoot) {
    auto intents = Intents::open(file_, boot);
    EXPECT_TRUE(intents) << (intents ? "" : intents.error().message);
    return std::move(*intents);
  }
  std::string content() const { return read_file(file_, 1 << 24).value_or(""); }

  ScratchFolder folder_;
  const std::filesystem::path file_ = folder_ / "run" / "intents";
};

TEST_F(IntentsTest, WhatIsOpenComesBackAsItWas) {
  {
    Intents intents = open();
    ASSERT_TRUE(intents.set(a_full_record("u1")));
    ASSERT_TRUE(intents.set(an_intent("u2")));
    ASSERT_TRUE(intents.set(an_intent("u2", 2)));
    ASSERT_TRUE(intents.set(an_intent("u3", 3)));
    intents.clear({kDriver, "u3"});
    intents.clear({kDriver, "never"});
  }
  EXPECT_THAT(open().all(), ElementsAre(a_full_record("u1"), an_intent("u2", 2)));
}

TEST_F(IntentsTest, EndsWithTheBoot) {
  ASSERT_TRUE(open().set(an_intent("u1")));
  EXPECT_THAT(open("boot-2").all(), IsEmpty());
  EXPECT_THAT(open().all(), IsEmpty()) << "and does not come back";
}

TEST_F(IntentsTest, IsForTheHostAlone) {
  ASSERT_TRUE(open().set(an_intent("u1")));
  struct stat about{};
  ASSERT_EQ(::stat(file_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
}

TEST_F(IntentsTest, WhatWasCutOffNeverCameToBe) {
  {
    Intents intents = open();
    ASSERT_TRUE(intents.set(an_intent("u1")));
    ASSERT_TRUE(intents.set(an_intent("u2", 2)));
  }
  std::filesystem::resize_file(file_, std::filesystem::file_size(file_) - 5);
  EXPECT_THAT(open().all(), ElementsAre(an_intent("u1")));
  EXPECT_FALSE(std::filesystem::exists(file_.native() + ".damaged"));
  EXPECT_THAT(open().all(), ElementsAre(an_intent("u1"))) << "nothing is left of it";
}

TEST_F(IntentsTest, WhatCanBeReadOfADamagedFileCounts) {
  {
    Intents intents = open();
    ASSERT_TRUE(intents.set(an_intent("u1")));
    std::ofstream(file_, std::ios::app) << "\n+{\"driver\":7}\nnonsense\n";
    ASSERT_TRUE(intents.set(an_intent("u2", 2)));
  }
  EXPECT_THAT(open().all(), ElementsAre(an_intent("u1"), an_intent("u2", 2)));
  EXPECT_THAT(read_file(file_.native() + ".damaged", 1 << 20).value(), HasSubstr("nonsense"));
  EXPECT_THAT(content(), ::testing::Not(HasSubstr("nonsense")));
}

TEST_F(IntentsTest, StaysShort) {
  Intents intents = open();
  ClaimRecord large = an_intent("large");
  large.parts[0].state.assign(64 << 10, 's');
  ASSERT_TRUE(intents.set(an_intent("stays")));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(intents.set(large));
    intents.clear(large.key());
  }
  EXPECT_LT(content().size(), 2u << 20);
  EXPECT_THAT(intents.all(), ElementsAre(an_intent("stays")));
}

TEST_F(IntentsTest, ASecondHostHasToWait) {
  const Intents first = open();
  const auto second = Intents::open(file_, kBoot);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kAborted);
  EXPECT_THAT(second.error().message, HasSubstr("run_dir"));
}

TEST_F(IntentsTest, AFullDiskIsAnErrorAndNothingElse) {
  SmallDisk disk(folder_ / "small", "size=512k");
  if (!disk.works()) GTEST_SKIP() << "needs to be able to mount";
  auto intents = Intents::open(disk.path() / "intents", kBoot);
  ASSERT_TRUE(intents);
  ASSERT_TRUE(intents->set(an_intent("u1")));
  disk.fill();
  ClaimRecord large = an_intent("large");
  large.parts[0].state.assign(64 << 10, 's');
  const Status refused = intents->set(large);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("run_dir"));
  disk.free();
  ASSERT_TRUE(intents->set(an_intent("u2", 2)));
  EXPECT_THAT(intents->all(), SizeIs(2));
  intents = fail(Code::kCancelled, "the process ended");
  EXPECT_THAT(Intents::open(disk.path() / "intents", kBoot)->all(), ElementsAre(an_intent("u1"), an_intent("u2", 2)));
}

TEST_F(IntentsTest, AReadOnlyFolderIsNamedWithItsRemedy) {
  const ReadOnlyFolder read_only(folder_ / "read-only");
  if (!read_only.works()) GTEST_SKIP() << "needs to be able to mount or not to be root";
  const auto intents = Intents::open(read_only.path() / "intents", kBoot);
  ASSERT_FALSE(intents);
  EXPECT_THAT(intents.error().message, HasSubstr("set [node] run_dir to one that is"));
}

}  // namespace
}  // namespace cardcage
