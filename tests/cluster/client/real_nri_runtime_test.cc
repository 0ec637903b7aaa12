// The plugin against the library of containerd and CRI-O, which no fake replaces.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>

#include "host/nri/nri_plugin.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/live_core.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// The program nri-runtime, which executes commands line by line.
class RealRuntime {
 public:
  explicit RealRuntime(const std::string& socket) {
    int orders[2], answers[2];
    if (::pipe2(orders, O_CLOEXEC) != 0 || ::pipe2(answers, O_CLOEXEC) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(orders[0], STDIN_FILENO);
      ::dup2(answers[1], STDOUT_FILENO);
      ::execlp("nri-runtime", "nri-runtime", socket.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(orders[0]);
    ::close(answers[1]);
    orders_ = ::fdopen(orders[1], "w");
    answers_ = ::fdopen(answers[0], "r");
  }
  RealRuntime(const RealRuntime&) = delete;
  RealRuntime& operator=(const RealRuntime&) = delete;
  ~RealRuntime() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    std::fclose(orders_);
    std::fclose(answers_);
  }

  // Returns its output: "ok" or an error; empty if it has ended.
  std::string order(const std::string& line) {
    std::fputs((line + "\n").c_str(), orders_);
    std::fflush(orders_);
    std::string answer;
    for (int c = std::fgetc(answers_); c != EOF && c != '\n'; c = std::fgetc(answers_))
      answer.push_back(static_cast<char>(c));
    return answer;
  }

 private:
  pid_t pid_ = -1;
  std::FILE *orders_ = nullptr, *answers_ = nullptr;
};

class RealNriRuntimeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::signal(SIGPIPE, SIG_IGN);  // a runtime that has ended reads no commands
    begin();
  }
  void begin() {
    ended = false;
    core.call([this] {
      NriListener listener;
      listener.connected = [this](std::vector<RuntimeSandbox> pods) { running = std::move(pods); };
      listener.starting = [this](RuntimeSandbox pod) { return start_pod(std::move(pod)); };
      listener.stopping = [this](RuntimeSandbox pod) { return stop_pod(std::move(pod)); };
      plugin = std::make_unique<NriPlugin>(core.context(), clock, folder / "nri.sock", std::move(listener));
      asio::co_spawn(core.context(), plugin->run(), [this](std::exception_ptr) { ended = true; });
    });
  }
  void end() {
    core.call([this] { plugin->stop(); });
    EXPECT_TRUE(eventually([&] { return ended.load(); }));
    core.call([this] { plugin.reset(); });
  }
  void TearDown() override { end(); }
  std::unique_ptr<RealRuntime> start_runtime() { return std::make_unique<RealRuntime>((folder / "nri.sock").native()); }
  Condition condition() {
    return core.call([this] { return plugin->condition(); });
  }
  void wait_until_connected() {
    ASSERT_TRUE(eventually([&] { return condition().level == Level::kGood; }, 10s)) << condition().text;
  }
  Task<Status> start_pod(RuntimeSandbox pod) {
    events.push_back(pod);
    co_await clock.sleep_for(delay);
    if (!error.empty()) co_return fail(Code::kFailedPrecondition, "{}", error);
    co_return Status();
  }
  Task<void> stop_pod(RuntimeSandbox pod) {
    pod.pod.uid = "stopped " + pod.pod.uid;
    events.push_back(pod);
    co_return;
  }

  ScratchFolder folder;
  SystemClock clock;
  LiveCore core;
  std::unique_ptr<NriPlugin> plugin;
  std::atomic<bool> ended = false;
  // Use these only while no command is running.
  std::vector<RuntimeSandbox> running, events;
  std::string error;
  Duration delay{};
};

TEST_F(RealNriRuntimeTest, ConnectsAndLearnsWhatRuns) {
  const auto runtime = start_runtime();
  wait_until_connected();
  EXPECT_EQ(condition().text, "nri-runtime v0.11");
}

TEST_F(RealNriRuntimeTest, LearnsOfMorePodsThanOneMessageHolds) {
  end();
  const auto runtime = start_runtime();
  for (int i = 0; i < 1000; ++i)  // 10 KB each
    ASSERT_EQ(runtime->order(fmt::format("pod uid-{} default pod-{} /var/run/netns/{}", i, i, i)), "ok");
  ASSERT_EQ(runtime->order("pod uid-host kube-system proxy -"), "ok");
  begin();
  wait_until_connected();
  EXPECT_THAT(running, SizeIs(1001));
  EXPECT_THAT(running,
              Contains(RuntimeSandbox{"sandbox-uid-999", {"uid-999", "default", "pod-999", "/var/run/netns/999"}}));
  EXPECT_THAT(running, Contains(RuntimeSandbox{"sandbox-uid-host", {"uid-host", "kube-system", "proxy", ""}}));
}

TEST_F(RealNriRuntimeTest, LearnsOfTheStartAndTheStopOfAPod) {
  const auto runtime = start_runtime();
  wait_until_connected();
  runtime->order("pod a default web /var/run/netns/cni-1");
  EXPECT_EQ(runtime->order("run a"), "ok");
  EXPECT_EQ(runtime->order("stop a"), "ok");
  EXPECT_THAT(events,
              ElementsAre(RuntimeSandbox{"sandbox-a", {"a", "default", "web", "/var/run/netns/cni-1"}},
                          RuntimeSandbox{"sandbox-a", {"stopped a", "default", "web", "/var/run/netns/cni-1"}}));
}

TEST_F(RealNriRuntimeTest, AnErrorFailsThePodWithItsText) {
  const auto runtime = start_runtime();
  wait_until_connected();
  runtime->order("pod a default web -");
  // The message exceeds the library's read buffer.
  error = "interface 'eth9' is gone " + std::string(12'000, 'x');
  EXPECT_EQ(runtime->order("run a"), "rpc error: code = FailedPrecondition desc = cardcage: " + error);
  error.clear();
  EXPECT_EQ(runtime->order("run a"), "ok") << "the library keeps the plugin";
  EXPECT_THAT(events, SizeIs(2));
}

TEST_F(RealNriRuntimeTest, RespondsBeforeTheLibraryGivesUp) {
  const auto runtime = start_runtime();
  wait_until_connected();
  runtime->order("pod a default web -");
  runtime->order("pod b default db -");
  ASSERT_EQ(runtime->order("timeout 500"), "ok");
  delay = 1s;
  const std::string late = runtime->order("run a");
  EXPECT_THAT(late,
              HasSubstr("code = DeadlineExceeded desc = cardcage: the devices of pod 'default/web' are not ready"));
  core.call([this] { delay = {}; });
  EXPECT_EQ(runtime->order("run b"), "ok") << "the library keeps the plugin";
  EXPECT_THAT(events, SizeIs(2));
}

TEST_F(RealNriRuntimeTest, ComesBackAfterARestart) {
  auto runtime = start_runtime();
  wait_until_connected();
  runtime.reset();
  ASSERT_TRUE(eventually([&] { return condition().level != Level::kGood; }));
  runtime = start_runtime();
  wait_until_connected();
  runtime->order("pod a default web -");
  EXPECT_EQ(runtime->order("run a"), "ok");
  EXPECT_THAT(events, SizeIs(1));
}

}  // namespace
}  // namespace cardcage
