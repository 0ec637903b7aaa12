#include "host/core/parent.h"

#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "host/core/file.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/proc.h"

namespace cardcage {
namespace {

using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::Lt;
using ::testing::SizeIs;

// The parent runs in a process of its own. Each run of its daemon writes a line: "<restarts> <pid> <end of the previous
// run>".
class ParentTest : public ::testing::Test {
 protected:
  ~ParentTest() override {
    if (parent_ <= 0) return;
    ::kill(parent_, SIGKILL);
    end();
  }

  void start(const std::function<int(const Restarts&)>& daemon) {
    std::fflush(nullptr);
    parent_ = ::fork();
    if (parent_ != 0) return;
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // it inherits orphans, as process 1 does
    ::_exit(keep_running([&](const Restarts& restarts) {
      std::ofstream(log_, std::ios::app) << restarts.count << ' ' << ::getpid() << ' ' << restarts.last_end << '\n';
      return daemon(restarts);
    }));
  }

  // Waits for the run after that many restarts, and returns its pid.
  pid_t run(unsigned restarts) const {
    pid_t pid = -1;
    EXPECT_TRUE(eventually([&] {
      std::ifstream lines(log_);
      unsigned number = 0;
      for (std::string end; lines >> number >> pid && std::getline(lines, end) && !lines.eof();)
        if (number == restarts) return true;
      return false;
    })) << log();
    return pid;
  }
  std::string log() const { return read_file(log_, 10'000).value_or(""); }

  // The parent's exit status.
  int end() {
    int status = 0;
    ::waitpid(parent_, &status, 0);
    parent_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  [[noreturn]] static int run_on(const Restarts&) {
    for (;;) ::pause();
  }

  ScratchFolder folder_;
  const std::filesystem::path log_ = folder_ / "log";
  pid_t parent_ = -1;
};

TEST_F(ParentTest, ACrashedDaemonIsStartedAgainAtOnce) {
  start(run_on);
  const pid_t first = run(0);
  const auto killed = steady_clock::now();
  ::kill(first, SIGKILL);
  EXPECT_NE(run(1), first);
  EXPECT_THAT(steady_clock::now() - killed, Lt(std::chrono::seconds(3)));
  EXPECT_THAT(log(), HasSubstr(" was killed by signal 9 (Killed)\n"));
}

TEST_F(ParentTest, PausesGrowWhileItKeepsFailing) {
  const auto begun = steady_clock::now();
  start([](const Restarts& restarts) -> int {
    if (restarts.count < 2) ::_exit(7);
    run_on(restarts);
  });
  run(2);
  EXPECT_GE(steady_clock::now() - begun, std::chrono::milliseconds(550));
  EXPECT_THAT(log(), HasSubstr("2 ")) << log();
  EXPECT_THAT(log(), HasSubstr(" exited with status 7\n"));
}

TEST_F(ParentTest, AWantedEndIsItsOwn) {
  start([](const Restarts&) { return 0; });
  EXPECT_EQ(end(), 0);
  EXPECT_THAT(log(), HasSubstr("0 "));
}

TEST_F(ParentTest, AFirstRunThatFailsEndsWithItsStatus) {
  start([](const Restarts&) { return 3; });
  EXPECT_EQ(end(), 3);
}

TEST_F(ParentTest, ALaterRunThatFailsIsRepeated) {
  start([](const Restarts& restarts) -> int {
    if (restarts.count == 0) std::raise(SIGKILL);
    if (restarts.count == 1) return 3;
    run_on(restarts);
  });
  run(2);
  EXPECT_THAT(log(), HasSubstr(" exited with status 3\n"));
}

// A module inside the daemon may call exit().
TEST_F(ParentTest, AnExitThatIsNotTheDaemonsOwnIsACrash) {
  start([](const Restarts& restarts) -> int {
    if (restarts.count == 0) std::exit(0);
    run_on(restarts);
  });
  run(1);
  EXPECT_THAT(log(), HasSubstr(" exited with status 0\n"));
}

TEST_F(ParentTest, SignalsArePassedOnAndOneThatAsksForTheEndEndsBoth) {
  static volatile std::sig_atomic_t hangups = 0;
  start([](const Restarts&) -> int {
    sigset_t wanted;
    ::sigemptyset(&wanted);
    for (const int signal : {SIGHUP, SIGTERM}) ::sigaddset(&wanted, signal);
    ::sigprocmask(SIG_BLOCK, &wanted, nullptr);
    ::kill(::getppid(), SIGHUP);  // the daemon is ready
    for (int signal = 0;;) {
      ::sigwait(&wanted, &signal);
      if (signal == SIGTERM) ::_exit(40 + hangups);
      hangups = hangups + 1;
      ::kill(::getppid(), SIGTERM);
    }
  });
  EXPECT_EQ(end(), 41);
}

TEST_F(ParentTest, AStopDuringAPauseEndsIt) {
  start([](const Restarts&) -> int { ::_exit(1); });
  const pid_t fourth = run(3);  // a pause of five seconds follows
  ASSERT_TRUE(eventually([&] { return ::kill(fourth, 0) != 0; })) << "it is not reaped";
  ::kill(parent_, SIGTERM);
  EXPECT_EQ(end(), 0);
}

TEST_F(ParentTest, ADaemonThatIsKilledWhileItStopsIsNotStartedAgain) {
  start([](const Restarts&) -> int {
    std::signal(SIGTERM, [](int) { std::raise(SIGKILL); });
    ::kill(::getppid(), SIGTERM);
    for (;;) ::pause();
  });
  EXPECT_EQ(end(), 128 + SIGKILL);
}

TEST_F(ParentTest, AStarterThatIgnoresTheEndOfChildrenDoesNotHideACrash) {
  const auto former = std::signal(SIGCHLD, SIG_IGN);
  start(run_on);
  std::signal(SIGCHLD, former);
  ::kill(run(0), SIGKILL);
  run(1);
}

TEST_F(ParentTest, TheDaemonEndsWithItsParent) {
  start(run_on);
  const pid_t daemon = run(0);
  ASSERT_TRUE(proc::is_alive(daemon));
  ::kill(parent_, SIGKILL);
  EXPECT_TRUE(eventually([&] { return !proc::is_alive(daemon); }));
}

TEST_F(ParentTest, OrphansAreReapedAndNotTakenForTheDaemon) {
  const auto orphan = folder_ / "orphan";
  start([&](const Restarts&) -> int {
    if (::fork() != 0) run_on({});
    if (::fork() != 0) ::_exit(0);  // the parent adopts the child
    std::ofstream(orphan) << ::getpid() << std::endl;
    ::_exit(0);
  });
  const pid_t daemon = run(0);
  pid_t pid = -1;
  ASSERT_TRUE(eventually([&] { return std::ifstream(orphan) >> pid && pid > 0; }));
  EXPECT_TRUE(eventually([&] { return ::kill(pid, 0) != 0; })) << "a zombie is left";
  EXPECT_TRUE(proc::is_alive(daemon));
  EXPECT_THAT(proc::children(parent_), SizeIs(1));
}

}  // namespace
}  // namespace cardcage
