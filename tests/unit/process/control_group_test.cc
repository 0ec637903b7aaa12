#include "host/process/control_group.h"

#include <gmock/gmock.h>

#include "tests/fakes/eventually.h"
#include "tests/fakes/idle_process.h"
#include "tests/fakes/proc.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr const char* kUnified =
    "41 31 0:38 / /sys/fs/cgroup rw,nosuid,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kHybrid =
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
    "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

TEST(OwnControlGroupsTest, OfAUnitUnderVersion2) {
  EXPECT_THAT(own_control_groups("0::/system.slice/cardcage.service\n", kUnified),
              ElementsAre("/sys/fs/cgroup/system.slice/cardcage.service"));
}

TEST(OwnControlGroupsTest, PrefersVersion2OnAHybridHost) {
  EXPECT_THAT(own_control_groups("9:name=systemd:/a.service\n1:cpu:/\n0::/b.service\n", kHybrid),
              ElementsAre("/sys/fs/cgroup/unified/b.service", "/sys/fs/cgroup/systemd/a.service"));
}

TEST(OwnControlGroupsTest, OfAContainerThatSeesThePathsOfTheHost) {
  EXPECT_THAT(
      own_control_groups("9:name=systemd:/kubepods/pod1/c1\n",
                         "40 31 0:37 /kubepods/pod1/c1 /sys/fs/cgroup/systemd ro - cgroup cgroup rw,name=systemd\n"),
      ElementsAre("/sys/fs/cgroup/systemd"));
}

TEST(OwnControlGroupsTest, NoneIfThePathIsNotMounted) {
  EXPECT_THAT(own_control_groups("9:name=systemd:/kubepods/pod1/c1\n",
                                 "40 31 0:37 /other /sys/fs/cgroup/systemd ro - cgroup cgroup rw,name=systemd\n"),
              IsEmpty());
  EXPECT_THAT(own_control_groups("0::/\n", kHybrid), ElementsAre("/sys/fs/cgroup/unified"));
  EXPECT_THAT(own_control_groups("0::/\n", ""), IsEmpty());
  EXPECT_THAT(own_control_groups("nonsense\n::\n", "nonsense\n - \n"), IsEmpty());
}

// Runs once for each version of control groups on this machine.
TEST(ControlGroupTest, KillsWhatLeftTheSessionOfItsParent) {
  int tried = 0;
  for (const fs::path& home : writable_control_groups()) {
    SCOPED_TRACE(home);
    const fs::path folder = home / fmt::format("cardcage-test-{}", ::getpid());
    ASSERT_TRUE(fs::create_directory(folder));
    {
      const ControlGroup group(folder);
      IdleProcess parent(group);
      const pid_t child = parent.fork_child();
      EXPECT_THAT(group.members(), UnorderedElementsAre(parent.pid(), child));
      group.kill();
      EXPECT_TRUE(eventually([&] { return group.members().empty() && !proc::is_alive(child); }));
    }
    EXPECT_FALSE(fs::exists(folder));
    ++tried;
  }
  if (tried == 0) GTEST_SKIP() << "no control group is writable";
}

}  // namespace
}  // namespace cardcage
