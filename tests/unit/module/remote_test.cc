// Behaviour that only modules in a process of their own have.
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>

#include "host/core/file.h"
#include "host/module/remote.h"
#include "tests/fakes/built_files.h"
#include "tests/unit/module/scenario_fixture.h"

namespace cardcage {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class RemoteTest : public ScenarioFixture {
 protected:
  // Returns when all threads have stopped.
  static bool stop_process(pid_t pid) {
    siginfo_t about{};
    return ::kill(pid, SIGSTOP) == 0 && ::waitid(P_PID, static_cast<id_t>(pid), &about, WSTOPPED | WNOWAIT) == 0;
  }
  static pid_t newest_child() {
    pid_t newest = -1;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream children(thread.path() / "children");
      for (pid_t pid = 0; children >> pid;) newest = std::max(newest, pid);
    }
    return newest;
  }
  // Whether the daemon has killed the worker, even before its end is reported.
  bool is_killed() const { return dynamic_cast<const RemoteModule&>(*module).link().process().child()->is_killed(); }
  static char state_of(pid_t pid) {
    const std::string stat = read_file(fmt::format("/proc/{}/stat", pid), 4096).value_or(") ?");
    return stat.at(stat.rfind(')') + 2);
  }
};

// Stops all threads of a process as a debugger does at a breakpoint.
class Debugger {
 public:
  explicit Debugger(pid_t pid) : pid_(pid) {
    for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid)))
      threads_.push_back(std::stoi(task.path().filename()));
  }
  // False if this system forbids it.
  bool attach() {
    return std::ranges::all_of(threads_, [](pid_t thread) {
      return ::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) == 0 &&
             ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) == 0;
    });
  }
  bool holds_all() const {
    return std::ranges::all_of(threads_, [this](pid_t thread) {
      return read_file(fmt::format("/proc/{}/task/{}/stat", pid_, thread), 4096).value_or("").contains(") t ");
    });
  }
  // No thread runs in between, because each gets the signal first.
  void detach_and_leave_stopped() {
    ::kill(pid_, SIGSTOP);
    detach();
    siginfo_t about{};
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(pid_), &about, WSTOPPED | WNOWAIT), 0);
  }
  void detach() {
    for (const pid_t thread : threads_) EXPECT_EQ(::ptrace(PTRACE_DETACH, thread, nullptr, nullptr), 0);
  }

 private:
  const pid_t pid_;
  std::vector<pid_t> threads_;
};

INSTANTIATE_TEST_SUITE_P(Isolation, RemoteTest, ::testing::Values(Isolation::kProcess), name_of_isolation);

TEST_P(RemoteTest, ACrashLosesTheInstanceAndSaysHowAndWhatWasPrintedLast) {
  ASSERT_TRUE(start_scripted({"prepare=crash"}));
  const auto prepared = begin(module->call(PrepareCall{claim("u1")}, soon()));
  const auto queued = begin(module->call(DiscoverCall{}, soon()));
  ASSERT_TRUE(eventually([&] { return prepared->has_value() && queued->has_value(); }));
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->code, Code::kUnavailable);
  EXPECT_EQ(lost->message,
            "module 'm' is gone: its worker was killed by signal 11 (Segmentation fault); it printed last: 'about to "
            "read register 0x10'");
  ASSERT_FALSE(module->last_lines().empty());
  EXPECT_EQ(module->last_lines().back().text, "printed: about to read register 0x10");
  EXPECT_EQ((*prepared)->error(), *lost);
  EXPECT_EQ((*queued)->error(), *lost);
  EXPECT_EQ(run(module->call(UnprepareCall{claim("u1")}, soon())).error(), *lost)
      << "a lost module never reports success";
  EXPECT_EQ(run(module->stop(soon())).error(), *lost);
}

TEST_P(RemoteTest, AModuleThatExitsLosesTheInstance) {
  ASSERT_TRUE(start_scripted({"check=exit"}));
  EXPECT_EQ(run(module->call(CheckCall{{"dev-0"}}, soon())).error().message,
            "module 'm' is gone: its worker exited with status 7");
  EXPECT_TRUE(lost);
}

TEST_P(RemoteTest, TheNextInstanceStartsFresh) {
  ASSERT_TRUE(start_scripted({"check=exit"}));
  ASSERT_FALSE(run(module->call(CheckCall{{"dev-0"}}, soon())));
  ASSERT_TRUE(start_scripted({}));
  EXPECT_TRUE(run(module->call(DiscoverCall{}, soon())));
}

TEST_P(RemoteTest, AStuckWorkerIsKilledAndGone) {
  ASSERT_TRUE(start_scripted({"prepare=hang"}));
  const auto prepared = begin(module->call(PrepareCall{claim("u1")}, clock.now() + seconds(3)));
  ASSERT_TRUE(is_hanging());
  advance(seconds(3));
  advance(seconds(5));
  ASSERT_TRUE(lost);
  EXPECT_THAT(lost->message, StartsWith("module 'm' was stuck in prepare since "));
  EXPECT_EQ(run(module->stop(soon())).error(), *lost);
  module.reset();
  EXPECT_FALSE(std::filesystem::exists(folder / "release.left"));
}

TEST_P(RemoteTest, AModuleThatWantsAProcessGetsIt) {
  const auto loaded = load(config("process_only.so"));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE((*loaded)->identity().process_only);
}

// Descriptors: the standard three, the socket, the image, two of the inbox, and the cancel descriptor of the call.
// Variables: PATH, LANG and CARDCAGE_TEST_RELEASE.
TEST_P(RemoteTest, AWorkerHasItsOwnProcessGroupAndFewDescriptorsAndVariables) {
  ::setenv("LANG", "C", 1);
  ::unsetenv("TZ");
  ::setenv("CARDCAGE_TEST_SECRET", "x", 1);
  ::setenv("CARDCAGE_TEST_RELEASE", "y", 1);
  ASSERT_TRUE(start_scripted({"reset=surroundings"}));
  EXPECT_EQ(run(module->call(ResetCall{"dev-0"}, soon())).error().message,
            "module 'm' cannot reset: 8 descriptors, 3 variables, own group 1");
}

// The module reports the values in /proc about its own process.
TEST_P(RemoteTest, TheWorkerIsConfinedAsConfigured) {
  ModuleConfig wanted = config("scripted.so", {{"behave", std::vector<std::string>{"reset=rights"}}});
  wanted.process.limits = {{"nofile", 99}, {"core", 0}};
  wanted.process.capabilities = {{"CAP_CHOWN"}};
  wanted.process.seccomp = true;
  const auto loaded = load(wanted);
  ASSERT_TRUE(loaded) << loaded.error().message;
  module = *loaded;
  ASSERT_TRUE(run(module->start({}, soon())));
  EXPECT_EQ(
      run(module->call(ResetCall{"dev-0"}, soon())).error().message,
      "module 'm' cannot reset: nofile 99, CapEff 0000000000000001, NoNewPrivs 1, Seccomp 2, mount: Operation not "
      "permitted");
}

TEST_P(RemoteTest, TheFilterForbidsWaysAroundItAndAllowsThreads) {
  ModuleConfig wanted = config("scripted.so", {{"behave", std::vector<std::string>{"reset=forbidden"}}});
  wanted.process.seccomp = true;
  module = load(wanted).value();
  ASSERT_TRUE(run(module->start({}, soon())));
  EXPECT_EQ(run(module->call(ResetCall{"dev-0"}, soon())).error().message,
            "module 'm' cannot reset: EPERM EPERM EPERM EPERM EPERM EPERM EPERM EPERM ENOSYS thread 0");
}

TEST_P(RemoteTest, AWorkerMayRunAsAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ModuleConfig wanted = config("scripted.so", {{"behave", std::vector<std::string>{"reset=user"}}});
  wanted.process.user = "nobody";
  module = load(wanted).value();
  ASSERT_TRUE(run(module->start({}, soon())));
  EXPECT_EQ(run(module->call(ResetCall{"dev-0"}, soon())).error().message,
            "module 'm' cannot reset: uid 65534 gid 65534 groups 1, CapEff 0000000000000000, CapBnd 0000000000000000");
  wanted.process.capabilities = {{"CAP_CHOWN"}};
  module = load(wanted).value();
  ASSERT_TRUE(run(module->start({}, soon())));
  EXPECT_THAT(run(module->call(ResetCall{"dev-0"}, soon())).error().message,
              HasSubstr("uid 65534 gid 65534 groups 1, CapEff 0000000000000001, CapBnd 0000000000000001"));
  wanted.process.user = "no-such-user";
  EXPECT_EQ(load(wanted).error().message,
            "module 'm': module.process.user: there is no user 'no-such-user' here: add it");
}

TEST_P(RemoteTest, ByDefaultAWorkerKeepsItsPrivilegesAndGainsNone) {
  ASSERT_TRUE(start_scripted({"reset=rights"}));
  EXPECT_THAT(run(module->call(ResetCall{"dev-0"}, soon())).error().message,
              AllOf(HasSubstr("NoNewPrivs 1"), HasSubstr("Seccomp 0")));
}

TEST_P(RemoteTest, ALimitThatCannotBeSetIsAnError) {
  ModuleConfig wanted = config("scripted.so");
  wanted.process.limits = {{"nofile", std::uint64_t{1} << 62}};
  EXPECT_THAT(load(wanted).error().message, HasSubstr("module 'm': module.process.limits: cannot set resource"));
}

TEST_P(RemoteTest, ALargeSnapshotAndManyLiveClaimsAreSentInParts) {
  modules_dir = built_modules();
  ASSERT_TRUE(start("libcardcage_mock.so", {{"devices", std::vector<std::string>{"gpu:10000"}}}));
  const auto snapshot = run(module->call(DiscoverCall{}, soon()));
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  EXPECT_THAT((*snapshot)->devices, SizeIs(10'000));
  std::vector<ModuleClaim> live;
  for (int i = 0; i < 200; ++i) {
    live.push_back(claim(fmt::format("u{}", i), {(*snapshot)->devices[static_cast<std::size_t>(i)].id}));
    live.back().params.push_back({.source = ConfigSource::kClaim, .requests = {}, .json = std::string(100'000, ' ')});
  }
  const Status reconciled = run(module->call(ReconcileCall{live}, soon()));
  EXPECT_TRUE(reconciled) << reconciled.error().message;
}

TEST_P(RemoteTest, ARequestThatIsTooLargeFailsAlone) {
  ASSERT_TRUE(start_scripted({}));
  ModuleClaim huge = claim("u1");
  huge.params.push_back({.source = ConfigSource::kClaim, .requests = {}, .json = std::string(5u << 20, ' ')});
  EXPECT_THAT(run(module->call(PrepareCall{huge}, soon())).error().message,
              AllOf(HasSubstr("module 'm' cannot prepare"), HasSubstr("larger than the 4 MiB")));
  EXPECT_TRUE(run(module->call(PrepareCall{claim("u2")}, soon())));
}

TEST_P(RemoteTest, AReconcileThatIsTooLargeLeavesNoLiveClaimsForTheNext) {
  ASSERT_TRUE(start_scripted({"reconcile=tell"}));
  ModuleClaim huge = claim("u2");
  huge.params.push_back({.source = ConfigSource::kClaim, .requests = {}, .json = std::string(5u << 20, ' ')});
  EXPECT_THAT(run(module->call(ReconcileCall{{claim("u1"), huge}}, soon())).error().message,
              HasSubstr("larger than the 4 MiB"));
  EXPECT_EQ(run(module->call(ReconcileCall{{claim("u3")}}, soon())).error().message,
            "module 'm' cannot reconcile: 1 live, first u3");
}

// The kernel delays the exit of a traced process, as that of a process that waits for a driver.
TEST_P(RemoteTest, AWorkerThatDoesNotEndIsReportedUntilItIsGone) {
  ASSERT_TRUE(start_scripted({}));
  const pid_t worker = newest_child();
  ASSERT_GT(worker, 0);
  if (::ptrace(PTRACE_SEIZE, worker, nullptr, PTRACE_O_TRACEEXIT) != 0)
    GTEST_SKIP() << "may not trace: " << std::strerror(errno);
  const auto stopped = begin(module->stop(soon()));
  ASSERT_TRUE(eventually([&] { return state_of(worker) == 't'; }));
  EXPECT_FALSE(*stopped);
  advance(seconds(10));
  ASSERT_TRUE(eventually([&] { return stopped->has_value(); }));
  const Leftover left = module->leftover();
  module.reset();
  ASSERT_TRUE(left());
  EXPECT_THAT(*left(), StartsWith(fmt::format("the worker (pid {}) of module 'm' was killed and does not end: it is in "
                                              "state t (a debugger holds it)",
                                              worker)));
  ASSERT_EQ(::ptrace(PTRACE_DETACH, worker, nullptr, nullptr), 0);
  EXPECT_TRUE(eventually([&] { return left() == std::nullopt; }));
  EXPECT_EQ(::kill(worker, 0), -1) << "reaped";
}

TEST_P(RemoteTest, AWorkerThatDoesNotAnswerAPingIsKilled) {
  ASSERT_TRUE(start_scripted({}));
  const pid_t worker = newest_child();
  for (int i = 0; i < 5; ++i) {
    advance(seconds(10));
    ASSERT_TRUE(run(module->call(DiscoverCall{}, soon()))) << "its reply follows the reply to the ping";
  }
  ASSERT_FALSE(lost);
  ASSERT_TRUE(stop_process(worker));
  advance(seconds(10));
  EXPECT_FALSE(lost);
  advance(seconds(10));
  ASSERT_TRUE(eventually([&] { return lost.has_value(); }));
  EXPECT_EQ(
      lost->message,
      "module 'm' is gone: its worker did not answer a ping for 10 s, being stopped or starved, and was killed by "
      "signal 9 (Killed)");
}

TEST_P(RemoteTest, AWorkerThatADebuggerHoldsIsNotKilledForItsPings) {
  ASSERT_TRUE(start_scripted({}));
  const pid_t worker = newest_child();
  Debugger debugger(worker);
  if (!debugger.attach()) GTEST_SKIP() << "may not trace: " << std::strerror(errno);
  ASSERT_TRUE(eventually([&] { return debugger.holds_all(); }));
  for (int i = 0; i < 6; ++i) {
    advance(seconds(10));
    EXPECT_FALSE(is_killed()) << "after " << i << " pings";
  }
  debugger.detach_and_leave_stopped();
  advance(seconds(10));
  EXPECT_FALSE(is_killed()) << "it has had no time to reply";
  EXPECT_FALSE(lost);
  advance(seconds(10));
  EXPECT_TRUE(is_killed());
  ASSERT_TRUE(eventually([&] { return lost.has_value(); }));
  EXPECT_THAT(lost->message, HasSubstr("its worker did not answer a ping for 10 s, being stopped or starved"));
}

TEST_P(RemoteTest, AWorkerGoesOnOnceTheDebuggerHasLeft) {
  ASSERT_TRUE(start_scripted({}));
  Debugger debugger(newest_child());
  if (!debugger.attach()) GTEST_SKIP() << "may not trace: " << std::strerror(errno);
  ASSERT_TRUE(eventually([&] { return debugger.holds_all(); }));
  for (int i = 0; i < 3; ++i) advance(seconds(10));
  debugger.detach();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(run(module->call(DiscoverCall{}, soon())));
    advance(seconds(10));
  }
  EXPECT_FALSE(is_killed());
  EXPECT_FALSE(lost);
}

TEST_P(RemoteTest, ALateCallLosesNoInstanceWhileADebuggerHoldsIt) {
  ASSERT_TRUE(start_scripted({"prepare=hang"}));
  const auto prepared = begin(module->call(PrepareCall{claim("u1")}, clock.now() + seconds(3)));
  ASSERT_TRUE(is_hanging());
  Debugger debugger(newest_child());
  if (!debugger.attach()) GTEST_SKIP() << "may not trace: " << std::strerror(errno);
  ASSERT_TRUE(eventually([&] { return debugger.holds_all(); }));
  advance(seconds(3));
  ASSERT_TRUE(prepared->has_value());
  EXPECT_EQ((*prepared)->error().code, Code::kDeadlineExceeded);
  for (int i = 0; i < 4; ++i) {
    advance(seconds(5));
    EXPECT_FALSE(is_killed());
    EXPECT_FALSE(lost);
  }
  debugger.detach();
  advance(seconds(5));
  ASSERT_TRUE(lost);
  EXPECT_THAT(lost->message, StartsWith("module 'm' was stuck in prepare since "));
}

TEST_P(RemoteTest, AModuleThatTakesItsTimeLetsPingsAndFurtherCallsThrough) {
  ASSERT_TRUE(start_scripted({"check=hang"}));
  for (int round = 0; round < 3; ++round) {
    std::filesystem::remove(folder / "release");
    std::filesystem::remove(folder / "release.entered");
    const auto busy = begin(module->call(CheckCall{{"dev-0"}}, clock.now() + seconds(60)));
    ASSERT_TRUE(is_hanging());
    std::vector<std::shared_ptr<std::optional<Status>>> queued;
    for (int ping = 0; ping < 3; ++ping) {
      queued.push_back(begin(module->call(UnprepareCall{claim(std::to_string(ping))}, clock.now() + seconds(60))));
      advance(seconds(10));
      const auto answered = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
      ASSERT_TRUE(eventually([&] { return std::chrono::steady_clock::now() > answered; }));
      ASSERT_FALSE(lost) << lost->message;
    }
    EXPECT_FALSE(*busy);
    release();
    ASSERT_TRUE(eventually([&] { return queued.back()->has_value(); }));
    for (const auto& one : queued) EXPECT_TRUE(**one) << (**one).error().message;
    EXPECT_TRUE(**busy);
    ASSERT_TRUE(run(module->call(DiscoverCall{}, soon()))) << "the module's thread reads again";
  }
}

TEST_P(RemoteTest, ADaemonThatWasHeldUpDoesNotKillItsWorker) {
  ASSERT_TRUE(start_scripted({}));
  const pid_t worker = newest_child();
  ASSERT_TRUE(stop_process(worker));
  advance(seconds(10));
  advance(seconds(60));
  EXPECT_FALSE(lost);
  ASSERT_EQ(::kill(worker, SIGCONT), 0);
  EXPECT_TRUE(run(module->call(DiscoverCall{}, soon())));
  for (int i = 0; i < 3; ++i) {
    advance(seconds(10));
    EXPECT_TRUE(run(module->call(DiscoverCall{}, soon())));
  }
  EXPECT_FALSE(lost);
}

TEST_P(RemoteTest, AWorkerThatEndedLeavesNothing) {
  ASSERT_TRUE(start_scripted({}));
  ASSERT_TRUE(run(module->stop(soon())));
  EXPECT_EQ(module->leftover()(), std::nullopt);
}

}  // namespace
}  // namespace cardcage
