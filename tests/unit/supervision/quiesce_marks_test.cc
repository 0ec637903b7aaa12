#include "host/supervision/quiesce_marks.h"

#include <gtest/gtest.h>

#include <fstream>

#include "sim/scratch_folder.h"

namespace cardcage {
namespace {

class QuiesceMarksTest : public ::testing::Test {
 protected:
  ScratchFolder folder;
  const QuiesceMark mark{"alice", "driver 580",
                         std::chrono::system_clock::time_point(std::chrono::seconds(1'800'000'000))};
};

TEST_F(QuiesceMarksTest, AMarkOutlivesTheDaemonUntilItIsCleared) {
  QuiesceMarks marks(folder / "quiesced", "boot-1");
  EXPECT_EQ(marks.find("gpu"), nullptr);
  ASSERT_TRUE(marks.set("gpu", mark));
  {
    QuiesceMarks next(folder / "quiesced", "boot-1");
    ASSERT_NE(next.find("gpu"), nullptr);
    EXPECT_EQ(to_string(*next.find("gpu")), "by alice since 2027-01-15T08:00:00Z (driver 580)");
    EXPECT_EQ(next.find("nic"), nullptr);
    ASSERT_TRUE(next.clear("gpu"));
    EXPECT_EQ(next.find("gpu"), nullptr);
  }
  EXPECT_EQ(QuiesceMarks(folder / "quiesced", "boot-1").find("gpu"), nullptr);
}

TEST_F(QuiesceMarksTest, AMarkEndsWithTheBoot) {
  ASSERT_TRUE(QuiesceMarks(folder / "quiesced", "boot-1").set("gpu", mark));
  EXPECT_EQ(QuiesceMarks(folder / "quiesced", "boot-2").find("gpu"), nullptr);
  EXPECT_EQ(QuiesceMarks(folder / "quiesced", "boot-1").find("gpu"), nullptr) << "the mark was removed";
}

TEST_F(QuiesceMarksTest, FilesThatAreRemovedAreWrittenAgain) {
  QuiesceMarks marks(folder / "quiesced", "boot-1");
  ASSERT_TRUE(marks.set("gpu", mark));
  std::filesystem::remove_all(folder / "quiesced");
  ASSERT_TRUE(marks.restore());
  EXPECT_NE(QuiesceMarks(folder / "quiesced", "boot-1").find("gpu"), nullptr);
}

TEST_F(QuiesceMarksTest, LineBreaksInTextsAreReplaced) {
  QuiesceMarks marks(folder / "quiesced", "boot-1");
  ASSERT_TRUE(marks.set("gpu", {"a\nb", "c\nd", mark.since}));
  const QuiesceMarks next(folder / "quiesced", "boot-1");
  EXPECT_EQ(to_string(*next.find("gpu")), "by a?b since 2027-01-15T08:00:00Z (c?d)");
}

TEST_F(QuiesceMarksTest, MarksThatCannotBeWrittenOrReadDoNotCount) {
  std::ofstream(folder / "file").flush();
  QuiesceMarks marks(folder / "file/quiesced", "boot-1");
  EXPECT_FALSE(marks.set("gpu", mark));
  EXPECT_EQ(marks.find("gpu"), nullptr);
  std::filesystem::create_directory(folder / "quiesced");
  std::ofstream(folder / "quiesced/gpu") << "boot-1\n";
  EXPECT_EQ(QuiesceMarks(folder / "quiesced", "boot-1").find("gpu"), nullptr);
}

}  // namespace
}  // namespace cardcage
