#include "host/config/live_config.h"

#include <gmock/gmock.h>

#include <fstream>

#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kPlain = "[node]\nname = \"node1\"\n";
constexpr const char* kLoud = "[node]\nname = \"node1\"\n[log]\nlevel = \"debug\"\n";

class LiveConfigTest : public CoreFixture {
 protected:
  LiveConfigTest() {
    write(kPlain);
    running = load_config(file).value();
    live.emplace(core, clock, file, running, [this](Config wanted, const ConfigPlan& plan) {
      applied.push_back(plan);
      running = effective_config(running, std::move(wanted));
    });
    spawn(core, live->run());
    settle();
  }
  ~LiveConfigTest() override {
    live->stop();
    settle();
  }
  void write(const std::string& text) const { std::ofstream(file) << text; }

  ScratchFolder folder;
  const std::filesystem::path file = folder / "cardcage.toml";
  SystemClock clock;
  Config running;
  std::vector<ConfigPlan> applied;
  std::optional<LiveConfig> live;
};

TEST_F(LiveConfigTest, AppliesEachChangeOnce) {
  write(kLoud);
  ASSERT_TRUE(runs_until([&] { return !applied.empty(); }));
  EXPECT_THAT(applied[0].settings, ElementsAre("log.level"));
  write(std::string(kLoud) + "# a remark\n");
  ASSERT_TRUE(runs_until([&] { return applied.size() == 2; }));
  EXPECT_TRUE(applied[1].empty());
  EXPECT_EQ(running.sha256, load_config(file)->sha256) << "the digest follows the file";
  EXPECT_EQ(live->state().reloads, 2u);
}

TEST_F(LiveConfigTest, AFileIsNotReadWhileItIsBeingWritten) {
  std::ofstream writing(file);
  for (int i = 0; i < 30; ++i) {
    writing << "# line " << i << "\n" << std::flush;
    core.restart();
    core.run_for(20ms);
    EXPECT_EQ(live->state().failures, 0u) << "the file is still being written";
  }
  writing << kLoud << std::flush;
  writing.close();
  EXPECT_TRUE(runs_until([&] { return applied.size() == 1; }));
  EXPECT_EQ(live->state().failures, 0u);
}

TEST_F(LiveConfigTest, ABrokenFileIsReportedOnceUntilItIsRepaired) {
  write("[node]\nname = 7\n");
  ASSERT_TRUE(runs_until([&] { return live->state().failures == 1; }));
  EXPECT_THAT(live->state().errors, ElementsAre(HasSubstr("cardcage.toml:2:")));
  std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now());
  core.restart();
  core.run_for(700ms);
  EXPECT_EQ(live->state().failures, 1u);
  write(kPlain);
  EXPECT_TRUE(runs_until([&] { return live->state().errors.empty(); }));
  EXPECT_THAT(applied, SizeIs(1));
  EXPECT_TRUE(applied[0].empty());
}

TEST_F(LiveConfigTest, AReloadIsImmediateAndADryRunChangesNothing) {
  write(kLoud);
  EXPECT_THAT(live->reload(true).plan.settings, ElementsAre("log.level"));
  EXPECT_THAT(applied, IsEmpty());
  EXPECT_THAT(live->reload(false).plan.settings, ElementsAre("log.level"));
  EXPECT_THAT(applied, SizeIs(1));
  write("nonsense");
  EXPECT_THAT(live->reload(true).errors, SizeIs(1));
  EXPECT_EQ(live->state().failures, 0u);
}

TEST_F(LiveConfigTest, KeysThatNeedARestartAreReportedUntilTheFileIsRestored) {
  write("[node]\nname = \"node2\"\n");
  EXPECT_THAT(live->reload(false).plan.restart, ElementsAre("node.name"));
  EXPECT_THAT(live->reload(false).plan.restart, ElementsAre("node.name"));
  EXPECT_THAT(live->state().restart, ElementsAre("node.name"));
  write(kPlain);
  live->reload(false);
  EXPECT_THAT(live->state().restart, IsEmpty());
}

TEST_F(LiveConfigTest, AFileThatCannotBeReadIsAnErrorOfTheFile) {
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  EXPECT_THAT(live->reload(false).errors, ElementsAre(HasSubstr("is not a regular file")));
  EXPECT_THAT(applied, IsEmpty());
}

}  // namespace
}  // namespace cardcage
