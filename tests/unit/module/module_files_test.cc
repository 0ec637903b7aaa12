#include "host/module/module_files.h"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/fakes/core_fixture.h"
#include "tests/fakes/scratch_folder.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class ModuleFilesTest : public CoreFixture {
 protected:
  ModuleFilesTest() {
    write("a.so", "one");
    write("b.so", "one");
    files.add("a.so", [this] { ++changes; });
    files.add("b.so", [this] { ++others; });
    spawn(core, files.run());
    settle();
  }
  ~ModuleFilesTest() override {
    files.stop();
    settle();
  }
  void write(const std::string& name, const std::string& content) const { std::ofstream(folder / name) << content; }
  // Runs the core until `done`, at most 5 s.
  bool eventually(const std::function<bool()>& done) {
    const Instant end = std::chrono::steady_clock::now() + 5s;
    core.restart();
    while (!done() && std::chrono::steady_clock::now() < end) core.run_one_for(10ms);
    return done();
  }

  ScratchFolder folder;
  SystemClock clock;
  int changes = 0, others = 0;
  ModuleFiles files{core, clock, folder.path()};
};

TEST_F(ModuleFilesTest, TellsOfAFileThatIsReplacedByARename) {
  write("next", "two");
  fs::rename(folder / "next", folder / "a.so");
  EXPECT_TRUE(eventually([&] { return changes == 1; }));
  EXPECT_EQ(others, 0);
}

TEST_F(ModuleFilesTest, TellsOfAFileThatIsOverwrittenInPlaceOnceItIsAtRest) {
  std::ofstream copying(folder / "a.so");
  for (int i = 0; i < 30; ++i) {
    copying << "more" << std::flush;
    core.restart();
    core.run_for(20ms);
    EXPECT_EQ(changes, 0) << "the copy goes on";
  }
  copying.close();
  EXPECT_TRUE(eventually([&] { return changes == 1; }));
}

TEST_F(ModuleFilesTest, AFileThatIsGoneIsNoChangeUntilAnotherComes) {
  fs::remove(folder / "a.so");
  core.restart();
  core.run_for(700ms);
  EXPECT_EQ(changes, 0);
  write("a.so", "two");
  EXPECT_TRUE(eventually([&] { return changes == 1; }));
}

}  // namespace
}  // namespace cardcage
