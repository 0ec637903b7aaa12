// The kernel's action after a leaking module has used up the memory of the daemon's cgroup.
#include <fstream>

#include "host/core/file.h"
#include "tests/fakes/proc.h"
#include "tests/fakes/sanitizers.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// leaks_memory.c takes 128 MiB in each check.
constexpr std::size_t kLimit = 512u << 20, kDaemonSize = 320u << 20;

bool write_line(const fs::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text << std::flush;
  return out.good();
}

// A cgroup below this process's own, which limits memory. Version 1 or 2.
class MemoryGroup {
 public:
  MemoryGroup() {
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
      const std::string path = line.substr(line.rfind(':') + 1);
      if (line.find(":memory:") != std::string::npos)
        enter_below("/sys/fs/cgroup/memory" + path, "memory.limit_in_bytes");
      else if (line.starts_with("0::") && fs::exists("/sys/fs/cgroup/cgroup.controllers"))
        enter_below("/sys/fs/cgroup" + path, "memory.max");
      if (why_not.empty()) return;
    }
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;
  ~MemoryGroup() {
    if (!why_not.empty()) return;
    write_line(home_ / "cgroup.procs", std::to_string(::getpid()));
    std::error_code busy;
    fs::remove(folder_, busy);
  }

  std::string why_not = "no memory controller is mounted";  // empty if this process is in the group

 private:
  void enter_below(const fs::path& home, const std::string& limit) {
    home_ = home;
    folder_ = home / fmt::format("cardcage-test-{}", ::getpid());
    std::error_code failed;
    fs::create_directory(folder_, failed);
    if (!failed && write_line(folder_ / limit, std::to_string(kLimit)) &&
        write_line(folder_ / "cgroup.procs", std::to_string(::getpid()))) {
      why_not.clear();
      return;
    }
    why_not = "cannot limit memory in " + folder_.native();
    fs::remove(folder_, failed);
  }

  fs::path home_, folder_;
};

class MemoryLimitTest : public ModuleFixture {
 protected:
  MemoryLimitTest() : ModuleFixture(Isolation::kProcess) {}
};

// This process stands for a daemon, and is the larger one: by size alone the kernel would kill it.
TEST_F(MemoryLimitTest, EndsTheLeakingWorkerAndNotTheDaemon) {
  const MemoryGroup group;
  if (!group.why_not.empty()) GTEST_SKIP() << group.why_not;
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer takes several times the memory that it watches";
  const std::string daemon(kDaemonSize, '.');
  ASSERT_TRUE(start("leaks_memory.so"));
  for (const pid_t worker : proc::workers(::getpid()))
    EXPECT_EQ(read_file(fmt::format("/proc/{}/oom_score_adj", worker), 64).value_or(""), "1000\n");
  for (int check = 0; check < 4 && !lost; ++check) std::ignore = run(module->call(CheckCall{{"dev-0"}}, soon()));
  ASSERT_TRUE(lost);
  EXPECT_THAT(lost->message, HasSubstr("its worker was killed by signal 9 (Killed)"));
  ASSERT_TRUE(start("leaks_memory.so")) << "a fresh instance has the memory back";
  EXPECT_TRUE(run(module->call(CheckCall{{"dev-0"}}, soon())));
}

}  // namespace
}  // namespace cardcage
