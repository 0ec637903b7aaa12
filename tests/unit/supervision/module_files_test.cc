#include "host/supervision/module_files.h"

#include <gmock/gmock.h>

#include <fstream>

#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class ModuleFilesTest : public CoreFixture {
 protected:
  ModuleFilesTest() {
    write("a.so", "one");
    write("b.so", "one");
    files.follow({"a.so", "b.so"});
    spawn(core, files.run());
    settle();
  }
  ~ModuleFilesTest() override {
    run(files.stop());
    settle();
  }
  void write(const std::string& name, const std::string& content) const { std::ofstream(folder / name) << content; }

  ScratchFolder folder, packaged;
  SystemClock clock;
  int changes = 0, others = 0, gone = 0;
  ModuleFiles files{core,
                    clock,
                    {folder.path(), packaged.path()},
                    {.changed = [this](const fs::path& file) { ++(file == "a.so" ? changes : others); },
                     .gone = [this](const fs::path& file) { gone += file == "a.so"; }}};
};

TEST_F(ModuleFilesTest, ReportsAFileThatIsReplacedByARename) {
  write("next", "two");
  fs::rename(folder / "next", folder / "a.so");
  EXPECT_TRUE(runs_until([&] { return changes == 1; }));
  EXPECT_EQ(others, 0);
}

TEST_F(ModuleFilesTest, ReportsAChangeIfAnotherFolderNowHasTheFile) {
  std::ofstream(packaged / "a.so") << "other";
  fs::remove(folder / "a.so");
  EXPECT_TRUE(runs_until([&] { return changes == 1; }));
  EXPECT_EQ(gone, 0);
}

TEST_F(ModuleFilesTest, ReportsAFileThatIsOverwrittenInPlaceOnceItIsComplete) {
  std::ofstream copying(folder / "a.so");
  for (int i = 0; i < 30; ++i) {
    copying << "more" << std::flush;
    core.restart();
    core.run_for(20ms);
    EXPECT_EQ(changes, 0) << "the copy is not finished";
  }
  copying.close();
  EXPECT_TRUE(runs_until([&] { return changes == 1; }));
}

TEST_F(ModuleFilesTest, ReportsAMissingFileAfterAWhileAndItsReturn) {
  fs::remove(folder / "a.so");
  core.restart();
  core.run_for(700ms);
  EXPECT_EQ(gone, 0) << "the next file may be on its way";
  EXPECT_TRUE(runs_until([&] { return gone == 1; }));
  EXPECT_EQ(changes, 0);
  write("a.so", "two");
  EXPECT_TRUE(runs_until([&] { return changes == 1; }));
  EXPECT_EQ(gone, 1);
}

TEST_F(ModuleFilesTest, ReportsOneChangeIfAnInstallerRemovesTheOldFileFirst) {
  fs::remove(folder / "a.so");
  core.restart();
  core.run_for(500ms);
  write("a.so", "two");
  EXPECT_TRUE(runs_until([&] { return changes == 1; }));
  EXPECT_EQ(gone, 0);
}

TEST_F(ModuleFilesTest, FollowReplacesTheSetOfFiles) {
  write("c.so", "one");
  files.follow({"b.so", "c.so"});
  write("a.so", "two");
  write("c.so", "two");
  EXPECT_TRUE(runs_until([&] { return others == 1; }));
  EXPECT_EQ(changes, 0);
}

TEST_F(ModuleFilesTest, ReportsALinkThatIsSwapped) {
  for (const char* version : {"v1", "v2"}) {
    fs::create_directory(folder / version);
    write(std::string(version) + "/l.so", version);
  }
  fs::create_symlink("v1", folder / "current");
  files.follow({"current/l.so"});
  settle();
  fs::create_symlink("v2", folder / "next");
  fs::rename(folder / "next", folder / "current");
  EXPECT_TRUE(runs_until([&] { return others == 1; }));
}

}  // namespace
}  // namespace cardcage
