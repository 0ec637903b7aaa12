#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "host/core/file.h"
#include "host/loader/loader.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/built_files.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

class StageTest : public ::testing::Test {
 protected:
  StageTest() { install("good.so", "x.so"); }

  void install(const std::string& test_module, const std::string& name) {
    fs::copy_file(test_modules() / test_module, folder / name);
    fs::permissions(folder / name, fs::perms(0644));
  }
  Error refusal(const fs::path& file, std::string_view sha256 = {}) {
    auto staged = stage({folder.path()}, file, sha256);
    if (staged) {
      ADD_FAILURE() << "'" << file.native() << "' was staged";
      return {};
    }
    return staged.error();
  }
  std::string at(const std::string& name) { return (folder / name).native(); }

  ScratchFolder folder;
};

TEST_F(StageTest, CopiesAndHashesAGoodModuleIntoASealedImage) {
  const auto staged = stage({folder.path()}, "x.so", {});
  ASSERT_TRUE(staged) << staged.error().message;
  EXPECT_EQ(staged->path, folder / "x.so");
  EXPECT_EQ(staged->sha256.size(), 64u);
  EXPECT_THAT(staged->elf.entries, ::testing::ElementsAre("cage_module_v1"));
  EXPECT_EQ(::fcntl(staged->image.get(), F_GET_SEALS), F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  EXPECT_LT(::write(staged->image.get(), "x", 1), 0);
}

TEST_F(StageTest, AcceptsThePinnedDigestInEitherCase) {
  auto digest = stage({folder.path()}, "x.so", {})->sha256;
  EXPECT_TRUE(stage({folder.path()}, "x.so", digest));
  std::ranges::transform(digest, digest.begin(), [](char c) { return c >= 'a' ? static_cast<char>(c - 32) : c; });
  EXPECT_TRUE(stage({folder.path()}, "x.so", digest));
}

TEST_F(StageTest, RefusesAnotherDigestThanThePinnedOne) {
  const std::string actual = stage({folder.path()}, "x.so", {})->sha256, pinned(64, '0');
  EXPECT_EQ(refusal("x.so", pinned),
            (Error{Code::kFailedPrecondition,
                   fmt::format("module file '{}' is refused: its sha256 is {} and the configuration pins {}: install "
                               "the pinned build, or, if the new one is wanted, pin its digest",
                               at("x.so"), actual, pinned)}));
  EXPECT_EQ(refusal("x.so", "abc").message,
            "module file '" + at("x.so") + "' is refused: the pinned sha256 'abc' is not a digest of 64 hex digits");
}

TEST_F(StageTest, NamesAMissingFileAndFolder) {
  EXPECT_EQ(refusal("y.so"), (Error{Code::kNotFound, "cannot open module file '" + at("y.so") +
                                                         "': No such file or directory (did you mean 'x.so'?)"}));
  EXPECT_EQ(refusal("libacme.so").message,
            "cannot open module file '" + at("libacme.so") + "': No such file or directory");
  EXPECT_EQ(stage({"/nonexistent"}, "x.so", {}).error(),
            (Error{Code::kNotFound, "cannot open modules folder '/nonexistent': No such file or directory"}));
}

TEST_F(StageTest, TakesTheFirstFolderThatHasTheFile) {
  ScratchFolder packaged;
  fs::copy_file(folder / "x.so", packaged / "x.so");
  fs::copy_file(folder / "x.so", packaged / "libacme.so");
  const std::vector<fs::path> folders{folder.path(), "/nonexistent", packaged.path()};
  EXPECT_EQ(stage(folders, "x.so", {})->path, folder / "x.so");
  EXPECT_EQ(stage(folders, "libacme.so", {})->path, packaged / "libacme.so");
  EXPECT_EQ(stage(folders, "libacm.so", {}).error(),
            (Error{Code::kNotFound, fmt::format("module file 'libacm.so' is in none of '{}', '/nonexistent', '{}' (did "
                                                "you mean 'libacme.so'?)",
                                                folder.path().native(), packaged.path().native())}));
}

TEST_F(StageTest, RefusesAFileOfTheFirstFolderAlthoughALaterOneHasIt) {
  ScratchFolder packaged;
  fs::copy_file(folder / "x.so", packaged / "x.so");
  fs::permissions(folder / "x.so", fs::perms(0666));
  EXPECT_EQ(stage({folder.path(), packaged.path()}, "x.so", {}).error().code, Code::kPermissionDenied);
}

TEST_F(StageTest, FollowsLinksThatStayBelowTheFolder) {
  fs::create_directories(folder / "..2026_1");
  fs::create_directories(folder / "v2/sub");
  install("good.so", "..2026_1/x.so");
  install("good.so", "v2/y.so");
  fs::create_directory_symlink("..2026_1", folder / "..data");
  fs::create_symlink("..data/x.so", folder / "mapped.so");
  fs::create_directory_symlink("v2", folder / "current");
  fs::create_directory_symlink(folder / "v2", folder / "absolute");
  fs::create_symlink("../y.so", folder / "v2/sub/up.so");
  for (const char* file : {"mapped.so", "current/y.so", "absolute/y.so", "current/sub/up.so"}) {
    const auto staged = stage({folder.path()}, file, {});
    EXPECT_TRUE(staged) << staged.error().message;
  }
}

TEST_F(StageTest, RefusesLinksOutOfTheFolder) {
  ScratchFolder outside;
  fs::copy_file(folder / "x.so", outside / "x.so");
  fs::create_symlink(outside / "x.so", folder / "absolute.so");
  fs::create_symlink("../" + outside.path().filename().native() + "/x.so", folder / "relative.so");
  fs::create_directory_symlink("..", folder / "up");
  for (const char* file : {"absolute.so", "relative.so", "up/x.so"}) {
    const Error refused = refusal(file);
    EXPECT_EQ(refused.code, Code::kFailedPrecondition);
    EXPECT_THAT(refused.message, ::testing::HasSubstr("is reached through a link out of modules_dir, '"));
  }
  EXPECT_EQ(refusal("up/x.so").message, "module file '" + at("up/x.so") +
                                            "' is reached through a link out of modules_dir, '" + at("up") +
                                            "' -> '..': link to what lies below it, or copy the file itself there");
  const std::string digest = stage({folder.path()}, "x.so", {})->sha256;
  EXPECT_FALSE(stage({folder.path()}, "absolute.so", digest)) << "not even with a pinned digest";
}

TEST_F(StageTest, RefusesALoopOfLinksAndALinkToNothing) {
  fs::create_symlink("b.so", folder / "a.so");
  fs::create_symlink("a.so", folder / "b.so");
  fs::create_symlink("nothing", folder / "dangling.so");
  EXPECT_THAT(refusal("a.so").message, ::testing::HasSubstr("is reached through a loop of links, '"));
  EXPECT_EQ(refusal("dangling.so").code, Code::kNotFound);
}

TEST_F(StageTest, RefusesALinkOfAnotherUserAndAFolderBehindALinkThatOthersCanWrite) {
  fs::create_directories(folder / "v2");
  install("good.so", "v2/x.so");
  fs::create_directory_symlink("v2", folder / "current");
  fs::permissions(folder / "v2", fs::perms(0777));
  EXPECT_THAT(refusal("current/x.so").message, ::testing::HasSubstr("is writable by others than its owner"));
  fs::permissions(folder / "v2", fs::perms(0755));
  EXPECT_TRUE(stage({folder.path()}, "current/x.so", {}));
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give links away";
  ASSERT_EQ(::lchown(at("current").c_str(), 12345, 12345), 0);
  EXPECT_EQ(refusal("current/x.so").message, "link '" + at("current") +
                                                 "' belongs to uid 12345, who could run code as this daemon: chown -h "
                                                 "root:root " +
                                                 at("current"));
}

TEST_F(StageTest, APinnedFileMayLieWhereOthersCanWrite) {
  const std::string digest = stage({folder.path()}, "x.so", {})->sha256;
  fs::permissions(folder.path(), fs::perms(0777));  // like the folder of a ConfigMap
  EXPECT_EQ(refusal("x.so").code, Code::kPermissionDenied);
  EXPECT_TRUE(stage({folder.path()}, "x.so", digest));
  std::ofstream(folder / "x.so", std::ios::app) << "more";
  EXPECT_THAT(refusal("x.so", digest).message, ::testing::HasSubstr("and the configuration pins"));
}

TEST_F(StageTest, RefusesAPathThatLeavesTheFolder) {
  EXPECT_EQ(refusal("../x.so").message,
            "module file '" + at("..") + "' leaves modules_dir: give a path below it without '..'");
  EXPECT_EQ(refusal("/etc/x.so").message, "module path '/etc/x.so' must be relative to modules_dir");
  EXPECT_EQ(refusal("").code, Code::kInvalidArgument);
}

TEST_F(StageTest, RefusesAFileThatOthersCanWrite) {
  fs::permissions(folder / "x.so", fs::perms(0664));
  EXPECT_EQ(refusal("x.so"),
            (Error{Code::kPermissionDenied,
                   "module file '" + at("x.so") +
                       "' is writable by others than its owner (mode 0664), who could run code as this daemon: chmod "
                       "go-w " +
                       at("x.so")}));
}

TEST_F(StageTest, RefusesAFolderThatOthersCanWriteAtAnyDepth) {
  fs::create_directories(folder / "a/b");
  install("good.so", "a/b/x.so");
  EXPECT_TRUE(stage({folder.path()}, "a/b/x.so", {}));
  fs::permissions(folder / "a", fs::perms(0777));
  EXPECT_EQ(refusal("a/b/x.so").message, "modules folder '" + at("a") +
                                             "' is writable by others than its owner (mode 0777), who could run code "
                                             "as this daemon: chmod go-w " +
                                             at("a"));
  fs::permissions(folder / "a", fs::perms(0755));
  fs::permissions(folder.path(), fs::perms(0770));
  EXPECT_EQ(refusal("x.so").code, Code::kPermissionDenied);
}

TEST_F(StageTest, RefusesTheFileOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(::chown(at("x.so").c_str(), 12345, 12345), 0);
  EXPECT_EQ(refusal("x.so"),
            (Error{Code::kPermissionDenied,
                   "module file '" + at("x.so") +
                       "' belongs to uid 12345, who could run code as this daemon: chown root:root " + at("x.so")}));
}

TEST_F(StageTest, RefusesOtherThanRegularFilesWithoutWaitingForAWriter) {
  ASSERT_EQ(::mkfifo(at("pipe.so").c_str(), 0600), 0);
  fs::create_directory(folder / "dir.so");
  for (const char* name : {"pipe.so", "dir.so"})
    EXPECT_EQ(refusal(name),
              (Error{Code::kInvalidArgument,
                     "module file '" + at(name) + "' is not a regular file: name the shared object (.so) itself"}));
}

TEST_F(StageTest, RefusesAnEmptyFileAndAFileThatIsNotASharedObject) {
  ASSERT_TRUE(write_file_atomically(folder / "empty.so", "", 0644));
  EXPECT_EQ(refusal("empty.so").message, "module file '" + at("empty.so") + "' is refused: it is empty: copy it again");
  ASSERT_TRUE(write_file_atomically(folder / "script.so", "#!/bin/sh\n", 0755));
  EXPECT_EQ(refusal("script.so").message, "module file '" + at("script.so") +
                                              "' is refused: it is not an ELF file: name the shared object (.so) "
                                              "itself");
}

TEST_F(StageTest, NamesTheUserWhoCannotReadTheFile) {
  fs::permissions(folder.path(), fs::perms(0755));
  fs::permissions(folder / "x.so", fs::perms(0));
  const bool is_root = ::geteuid() == 0;  // who may read it
  if (is_root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const auto staged = stage({folder.path()}, "x.so", {});
  const uid_t user = ::geteuid();
  if (is_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  ASSERT_FALSE(staged);
  EXPECT_EQ(staged.error(), (Error{Code::kPermissionDenied,
                                   fmt::format("cannot open module file '{}': Permission denied: make it readable for "
                                               "uid {}",
                                               at("x.so"), user)}));
}

TEST_F(StageTest, AFileThatIsWritableForOthersMayBeTrusted) {
  fs::permissions(folder / "x.so", fs::perms(0666));
  EXPECT_TRUE(stage({folder.path()}, "x.so", {}, Trust::kAnybody));
}

TEST_F(StageTest, RefusesAFileBeyondTheSizeBound) {
  ASSERT_EQ(::truncate(at("x.so").c_str(), static_cast<off_t>(kMaxModuleBytes) + 1), 0);
  EXPECT_EQ(refusal("x.so"),
            (Error{Code::kOutOfRange, "module file '" + at("x.so") +
                                          "' is refused: it is larger than 256 MiB: name the module, not an archive or "
                                          "an image of it"}));
}

TEST_F(StageTest, RefusesASharedObjectThatIsNotAModule) {
  install("no_entry.so", "n.so");
  EXPECT_EQ(
      refusal("n.so"),
      (Error{Code::kFailedPrecondition,
             "module file '" + at("n.so") +
                 "' is refused: it does not export cage_module_v1: either it is not a Cardcage module, or its build "
                 "hides the symbol (mark it with CAGE_EXPORT and list it in the version script)"}));
}

TEST_F(StageTest, NamesTheMajorThatAModuleIsBuiltFor) {
  install("other_major.so", "o.so");
  EXPECT_EQ(refusal("o.so"),
            (Error{Code::kFailedPrecondition,
                   "module file '" + at("o.so") +
                       "' is refused: it is built for module ABI major 7 and this host has major 1: install a build of "
                       "the module for major 1, or a Cardcage that has its major"}));
}

}  // namespace
}  // namespace cardcage
