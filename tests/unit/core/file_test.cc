#include "host/core/file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "sim/scratch_folder.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;

TEST(FileTest, WritesWholeFilesAndReadsThemBack) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_file_atomically(folder / "f", "one", 0600));
  ASSERT_TRUE(write_file_atomically(folder / "f", "two", 0640));
  EXPECT_EQ(read_file(folder / "f", 100), "two");
  struct stat about{};
  ASSERT_EQ(::stat((folder / "f").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0640u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(FileTest, RefusesAFileLargerThanTheLimit) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_file_atomically(folder / "f", "12345", 0600));
  EXPECT_EQ(read_file(folder / "f", 5), "12345");
  const auto refused = read_file(folder / "f", 4);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kOutOfRange);
}

TEST(FileTest, NamesTheFileAndTheCause) {
  const auto missing = read_file("/nonexistent/file", 10);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error(), (Error{Code::kNotFound, "cannot open '/nonexistent/file': No such file or directory"}));
  const auto unwritable = write_file_atomically("/proc/nothing", "x", 0600);
  ASSERT_FALSE(unwritable);
  EXPECT_THAT(unwritable.error().message, HasSubstr("cannot write '/proc/nothing'"));
}

TEST(FileTest, MakesFoldersWithTheirModeWhateverTheUmask) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder / "old");
  std::filesystem::permissions(folder / "old", std::filesystem::perms::owner_all);
  const mode_t umask = ::umask(0077);
  EXPECT_TRUE(make_folder(folder / "old/parent/new", 0755));
  ::umask(umask);
  const auto mode_of = [&](const char* name) {
    struct stat about{};
    EXPECT_EQ(::stat((folder / name).c_str(), &about), 0) << name;
    return about.st_mode & 07777;
  };
  EXPECT_EQ(mode_of("old/parent/new"), 0755u);
  EXPECT_EQ(mode_of("old/parent"), 0755u);
  EXPECT_EQ(mode_of("old"), 0700u) << "the mode of an existing folder is kept";
}

TEST(FileTest, MakesParentsOnceAndRefusesAFileInTheWay) {
  const ScratchFolder folder;
  EXPECT_TRUE(make_folder(folder / "a/b/c", 0755));
  EXPECT_TRUE(make_folder(folder / "a/b/c", 0755));
  ASSERT_TRUE(write_file_atomically(folder / "file", "", 0600));
  EXPECT_FALSE(make_folder(folder / "file", 0755));
}

}  // namespace
}  // namespace cardcage
