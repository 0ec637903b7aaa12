// The hook's program and the daemon's side of its socket, with a process in a network namespace of its own.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fstream>

#include "host/hook/attachment_files.h"
#include "host/hook/daemon_call.h"
#include "host/rpc/unix_socket.h"
#include "host/sandbox/hook_file.h"
#include "host/sandbox/hook_server.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/built_files.h"
#include "tests/fakes/live_core.h"
#include "tests/fakes/pod_namespace.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A process in the namespace, as a runtime makes it for a container.
class ContainerProcess {
 public:
  explicit ContainerProcess(int network_namespace) : pid_(::fork()) {
    if (pid_ != 0) return;
    if (::setns(network_namespace, CLONE_NEWNET) != 0) ::_exit(1);
    for (;;) ::pause();
  }
  ContainerProcess(const ContainerProcess&) = delete;
  ContainerProcess& operator=(const ContainerProcess&) = delete;
  ~ContainerProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  const pid_t pid_;
};

class HookProgramTest : public ::testing::Test {
 protected:
  struct Ended {
    int status = -1;
    std::string said;
  };
  struct Asked {
    HookRequest request;
    ino_t network_namespace = 0;
  };

  void SetUp() override {
    if (!pod.works()) GTEST_SKIP() << "no network namespace can be made here";
    ASSERT_TRUE(pod.ip("link add net1 type veth peer name other"));
  }
  void TearDown() override {
    if (server) core.run(stop());
  }
  Task<bool> stop() {
    co_await server->stop(clock.now() + std::chrono::seconds(5));
    server.reset();
    co_return true;
  }
  void serve() {
    core.call([this] {
      server = std::make_unique<HookServer>(core.context(), clock, run_dir / std::string(kHookSocket),
                                            [this](HookRequest request, UniqueFd network_namespace) -> Task<Status> {
                                              struct stat its{};
                                              ::fstat(network_namespace.get(), &its);
                                              calls.push_back({std::move(request), its.st_ino});
                                              co_return answer;
                                            });
      EXPECT_TRUE(server->restore());
    });
  }
  Ended run_hook() { return run_hook_in("77aa"); }
  Ended run_hook(const std::string& state) { return run_hook(files->sandbox_hook("nic.example.com", "u1"), state); }
  std::vector<Asked> asked() {
    return core.call([this] { return calls; });
  }
  // Runs the hook as a runtime runs the hook of a CDI file: the program in the daemon's state folder.
  Ended run_hook(const Hook& hook, const std::string& state) {
    const Status ready = core.run(files->ready(clock.now() + std::chrono::seconds(8)));
    EXPECT_TRUE(ready) << ready.error().message;
    std::ofstream(run_dir / "state.json") << state;
    std::string command = "exec ";
    for (const std::string& argument : hook.args) command += "'" + argument + "' ";
    command += "<" + (run_dir / "state.json").native() + " 2>" + (run_dir / "said").native();
    const int status = std::system(command.c_str());
    std::ifstream said(run_dir / "said");
    return {WEXITSTATUS(status), std::string(std::istreambuf_iterator<char>(said), {})};
  }
  Ended run_hook_in(const std::string& sandbox) {
    const ContainerProcess container(pod.descriptor());
    while (ino_of("/proc/" + std::to_string(container.pid()) + "/ns/net") != number())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return run_hook(fmt::format(
        R"({{"pid":{},"annotations":{{"io.kubernetes.cri.sandbox-name":"web-0","io.kubernetes.cri.sandbox-namespace":"team","io.kubernetes.cri.sandbox-id":"{}"}}}})",
        container.pid(), sandbox));
  }
  Hook memory_hook(std::uint64_t bytes) const {
    Edits edits;
    edits.locked_memory = {bytes};
    files->make_hooks(edits);
    return edits.hooks.at(0);
  }
  static ino_t ino_of(const std::string& path) {
    struct stat its{};
    return ::stat(path.c_str(), &its) == 0 ? its.st_ino : 0;
  }
  ino_t number() const { return ino_of("/proc/self/fd/" + std::to_string(pod.descriptor())); }
  void leave_attachment(const std::vector<std::string>& interfaces) const {
    leave_file(to_text({.uid = "p", .sandbox = "77aa", .interfaces = interfaces}));
  }
  void leave_file(const std::string& text) const {
    const std::filesystem::path folder = run_dir / std::string(kAttachmentsFolder);
    std::filesystem::create_directories(folder);
    std::ofstream(folder / attachment_file_name({"nic.example.com", "u1", number()})) << text;
  }

  ScratchFolder run_dir;
  PodNamespace pod;
  SystemClock clock;
  LiveCore core;
  const std::shared_ptr<HookFile> files = std::make_shared<HookFile>(
      core.context(), clock, HookFile::Places{built_program("cardcage-hook"), run_dir / "hooks", run_dir.path()});
  std::unique_ptr<HookServer> server;
  Status answer;
  std::vector<Asked> calls;  // on the core's thread
};

TEST_F(HookProgramTest, LetsAContainerStartOnceTheDaemonSaysSo) {
  serve();
  const Ended ended = run_hook();
  EXPECT_EQ(ended.status, 0) << ended.said;
  EXPECT_THAT(ended.said, IsEmpty());
  const std::vector<Asked> known = asked();
  ASSERT_THAT(known, SizeIs(1));
  EXPECT_EQ(known[0].request, (HookRequest{"nic.example.com", "u1", "team", "web-0", "", "77aa"}));
  EXPECT_EQ(known[0].network_namespace, number());
}

TEST_F(HookProgramTest, FailsTheContainerWithTheDaemonsReason) {
  answer = fail(Code::kUnavailable, "claim team/nics: interface 'eth1' is not on the node");
  serve();
  const Ended ended = run_hook();
  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(ended.said, "cardcage: claim team/nics: interface 'eth1' is not on the node\n");
}

TEST_F(HookProgramTest, LetsAContainerStartAgainWithoutTheDaemon) {
  leave_attachment({"net1"});
  const Ended ended = run_hook();
  EXPECT_EQ(ended.status, 0) << ended.said;
}

TEST_F(HookProgramTest, AsksWhenAnInterfaceIsMissingThatTheFileNames) {
  leave_attachment({"net1", "net2"});
  serve();
  EXPECT_EQ(run_hook().status, 0);
  EXPECT_THAT(asked(), SizeIs(1));
}

// None of these proves anything about this sandbox, so the daemon decides.
TEST_F(HookProgramTest, AsksWhenTheFileProvesNothing) {
  answer = fail(Code::kUnavailable, "no card");
  serve();
  const auto refused = [&](const Ended& ended) { return ended.status == 1 && ended.said == "cardcage: no card\n"; };
  leave_attachment({});
  EXPECT_TRUE(refused(run_hook())) << "the file names no interface";
  leave_attachment({"net1"});
  EXPECT_TRUE(refused(run_hook_in("88bb"))) << "a later sandbox has the number of the namespace";
  EXPECT_TRUE(refused(run_hook_in(""))) << "the container runtime names no sandbox";
  leave_file("p\nnet1\n");
  EXPECT_TRUE(refused(run_hook())) << "a daemon of the first protocol wrote the file";
  EXPECT_TRUE(refused(run_hook_in(""))) << "and the container runtime names no sandbox";
  EXPECT_THAT(asked(), SizeIs(5));
}

TEST_F(HookProgramTest, WaitsForADaemonThatIsAway) {
  std::thread starts([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    serve();
  });
  const Ended ended = run_hook();
  starts.join();
  EXPECT_EQ(ended.status, 0) << ended.said;
  EXPECT_THAT(asked(), SizeIs(1));
}

TEST_F(HookProgramTest, NoStateAndNoProcessAreErrors) {
  Ended ended = run_hook("{}");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.said, HasSubstr("no state of a container"));
  ended = run_hook(R"({"pid":999999999})");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.said, HasSubstr("cannot open /proc/999999999/ns/net"));
}

TEST_F(HookProgramTest, RaisesTheLimitOfLockedMemory) {
  const ContainerProcess container(pod.descriptor());
  const std::string state = fmt::format(R"({{"pid":{}}})", container.pid());
  const auto limit = [&container](const rlimit* wanted) {
    rlimit before{};
    EXPECT_EQ(::prlimit(container.pid(), RLIMIT_MEMLOCK, wanted, &before), 0);
    return std::pair(before.rlim_cur, before.rlim_max);
  };
  const rlimit low{.rlim_cur = 4096, .rlim_max = 65536};
  limit(&low);
  EXPECT_EQ(run_hook(memory_hook(8192), state).status, 0);
  EXPECT_EQ(limit(nullptr), std::pair(rlim_t{8192}, rlim_t{65536}));
  EXPECT_EQ(run_hook(memory_hook(4096), state).status, 0);
  EXPECT_EQ(limit(nullptr), std::pair(rlim_t{8192}, rlim_t{65536})) << "another device needs that limit";
  const Ended unlimited = run_hook(memory_hook(RLIM_INFINITY), state);
  if (unlimited.status == 0) {
    EXPECT_EQ(limit(nullptr), std::pair(RLIM_INFINITY, RLIM_INFINITY));
  } else {  // a machine without CAP_SYS_RESOURCE
    EXPECT_THAT(unlimited.said, HasSubstr("may lock 65536 bytes of memory, its device needs 18446744073709551615, and "
                                          "the container runtime may not raise that limit"));
    EXPECT_EQ(limit(nullptr), std::pair(rlim_t{8192}, rlim_t{65536}));
  }
}

TEST_F(HookProgramTest, AHookOfTheFirstProtocolIsStillServed) {
  serve();
  const UniqueFd socket = new_unix_socket();
  ASSERT_EQ(connect_unix(socket, *unix_address(run_dir / std::string(kHookSocket))), 0);
  const std::string message = "nic.example.com\nu1\nteam\nweb-0\np\n";
  const auto network = std::make_shared<const UniqueFd>(::fcntl(pod.descriptor(), F_DUPFD_CLOEXEC, 0));
  ASSERT_EQ(send_with(socket.get(), message, {network}), static_cast<ssize_t>(message.size()));
  ASSERT_EQ(::shutdown(socket.get(), SHUT_WR), 0);
  EXPECT_EQ(read_all(socket.get(), kMaxHookMessage, clock.now() + std::chrono::seconds(8)), "ok");
  const std::vector<Asked> known = asked();
  ASSERT_THAT(known, SizeIs(1));
  EXPECT_EQ(known[0].request, (HookRequest{"nic.example.com", "u1", "team", "web-0", "p", ""}));
}

}  // namespace
}  // namespace cardcage
