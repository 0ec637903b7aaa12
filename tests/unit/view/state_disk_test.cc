#include "host/view/state_disk.h"

#include <gmock/gmock.h>

#include "host/core/file.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_clock.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

class StateDiskTest : public CoreFixture {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder / "sockets");
    write("ledger.db", 5000);
    write("sockets/d", 12);
  }
  void write(const std::string& name, std::size_t bytes) {
    ASSERT_TRUE(write_file_atomically(folder / name, std::string(bytes, 'x'), 0600, false));
  }
  // Waits for the thread that measures.
  bool until(const std::function<bool()>& done) {
    const Instant end = std::chrono::steady_clock::now() + 30s;
    while (!done() && std::chrono::steady_clock::now() < end) {
      core.restart();
      core.run_one_for(10ms);
    }
    return done();
  }

  ScratchFolder folder;
  FakeClock clock;
  ChangeCounters changes;
  std::shared_ptr<StateDisk> disk = std::make_shared<StateDisk>(core, clock, folder.path(), changes);
};

TEST_F(StateDiskTest, MeasuresFreeRoomAndTheFilesOfTheFolder) {
  const auto space = measure_disk(folder.path());
  ASSERT_TRUE(space);
  EXPECT_EQ(space->used, 5012u);
  EXPECT_GT(space->free, 0u);
  EXPECT_FALSE(measure_disk(folder / "absent"));
}

TEST_F(StateDiskTest, KeepsFiguresForHalfAMinute) {
  EXPECT_FALSE(disk->space());
  ASSERT_TRUE(until([&] { return changes.count(Section::kStatus) == 1; }));
  EXPECT_EQ(disk->space()->used, 5012u);
  write("new", 100);
  clock.advance(29s);
  EXPECT_EQ(disk->space()->used, 5012u);
  settle();
  EXPECT_EQ(changes.count(Section::kStatus), 1u) << "nothing is measured";
  clock.advance(1s);
  EXPECT_EQ(disk->space()->used, 5012u) << "the new figures come later";
  EXPECT_TRUE(until([&] { return disk->space()->used == 5112u; }));
}

TEST_F(StateDiskTest, AFolderThatIsGoneHasNoFigures) {
  ASSERT_TRUE(until([&] { return disk->space().has_value(); }));
  std::filesystem::remove_all(folder.path());
  clock.advance(30s);
  EXPECT_TRUE(until([&] { return !disk->space(); }));
}

}  // namespace
}  // namespace cardcage
