#include "host/core/trusted_path.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "sim/scratch_folder.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uid_t kStranger = 65534;

class TrustedPathTest : public ::testing::Test {
 protected:
  TrustedPathTest() {
    fs::create_directories(folder / "vendor/bin");
    std::ofstream(tool()) << "x" << std::flush;
    fs::permissions(tool(), fs::perms(0755));
  }
  fs::path tool() const { return folder / "vendor/bin/tool"; }
  static std::string error_of(const fs::path& path) {
    const auto found = walk(path, check_step);
    if (!found) return found.error().message;
    const Status checked = check_file(*found);
    return checked ? "trusted" : checked.error().message;
  }
  ScratchFolder folder;
};

TEST_F(TrustedPathTest, AFileOfRootInFoldersOfRootIsTrusted) {
  EXPECT_EQ(error_of(tool()), "trusted");
  EXPECT_EQ(error_of("/usr/bin/env"), "trusted");
  EXPECT_EQ(walk(tool(), check_step)->path, fs::canonical(tool()));
}

TEST_F(TrustedPathTest, LinksAreFollowedToTheFileItself) {
  fs::create_symlink("vendor/bin", folder / "relative");
  fs::create_directory_symlink(folder / "vendor", folder / "absolute");
  fs::create_symlink("../../absolute/bin/./tool", folder / "vendor/bin/twice");
  for (const char* way : {"relative/tool", "absolute/bin/tool", "vendor/bin/twice"}) {
    ASSERT_EQ(error_of(folder / way), "trusted") << way;
    EXPECT_EQ(walk(folder / way, check_step)->path, fs::canonical(tool())) << way;
  }
  fs::create_symlink("loop", folder / "loop");
  EXPECT_THAT(error_of(folder / "loop"), HasSubstr("is a loop of links"));
}

TEST_F(TrustedPathTest, WhatDoesNotExistIsNamed) {
  const auto found = walk(folder / "absent/tool", check_step);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kNotFound);
  EXPECT_EQ(found.error().message, "'" + (folder / "absent").native() + "': No such file or directory");
}

TEST_F(TrustedPathTest, AFileOrFolderThatOthersMayWriteIsRefused) {
  for (const auto mode : {0775U, 0757U}) {
    fs::permissions(tool(), fs::perms(mode));
    EXPECT_THAT(error_of(tool()), AllOf(HasSubstr("writable by others"), HasSubstr("chmod go-w " + tool().native())));
  }
  fs::permissions(tool(), fs::perms(0755));
  fs::permissions(folder / "vendor", fs::perms(0777));
  EXPECT_THAT(error_of(tool()), AllOf(HasSubstr("folder '" + (folder / "vendor").native() + "' is writable by others"),
                                      HasSubstr("mode 0777")));
}

TEST_F(TrustedPathTest, AStickyFolderHoldsFoldersOfRootAndNothingElse) {
  fs::permissions(folder / "vendor", fs::perms(01777));
  EXPECT_EQ(error_of(tool()), "trusted") << "no other user can move vendor/bin";
  std::ofstream(folder / "vendor/tool") << "x" << std::flush;
  EXPECT_THAT(error_of(folder / "vendor/tool"), HasSubstr("mode 1777")) << "it may be a hard link of another file";
  fs::create_symlink("bin/tool", folder / "vendor/link");
  EXPECT_THAT(error_of(folder / "vendor/link"), HasSubstr("mode 1777"));
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(::chown((folder / "vendor/bin").c_str(), kStranger, 0), 0);
  EXPECT_THAT(error_of(tool()), HasSubstr("mode 1777"));
}

TEST_F(TrustedPathTest, AFileOrFolderOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(::chown(tool().c_str(), kStranger, 0), 0);
  EXPECT_THAT(error_of(tool()), AllOf(HasSubstr("belongs to uid 65534"), HasSubstr("chown root " + tool().native())));
  ASSERT_EQ(::chown(tool().c_str(), 0, 0), 0);
  ASSERT_EQ(::chown((folder / "vendor").c_str(), kStranger, 0), 0);
  EXPECT_THAT(error_of(tool()), HasSubstr("folder '" + (folder / "vendor").native() + "' belongs to uid 65534"));
}

}  // namespace
}  // namespace cardcage
