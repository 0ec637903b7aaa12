// Addresses from a DHCP server: dnsmasq, and Debian's CNI plugin dhcp with its daemon.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <fstream>

#include "host/core/file.h"
#include "tests/fakes/network_namespace.h"
#include "tests/fakes/pod_namespace.h"
#include "tests/nic/nic_fixture.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kPlugin = "/usr/lib/cni/dhcp";

// A command of the shell that runs in the network of the caller until the end of the test.
class Background {
 public:
  explicit Background(const std::string& command) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
    ::_exit(1);
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  const pid_t pid_;
};

// Container runtimes turn lo on. Without it, a new namespace has no table of local addresses, and the kernel refuses
// every gateway.
class DhcpPod : public PodNamespace {
 public:
  DhcpPod() { EXPECT_TRUE(ip("link set lo up")); }
};

class NicDhcp : public NicFixture {
 protected:
  void SetUp() override {
    if (!node.works()) GTEST_SKIP() << "no network namespace can be made here";
    ASSERT_TRUE(node.ip("link add nic0 address 02:00:00:00:00:10 type veth peer name nic0p"));
    ASSERT_TRUE(node.ip("link set nic0p up"));
    ASSERT_TRUE(node.ip("address add 10.9.8.1/24 dev nic0p"));
    tree.netdev("nic0");
    tree.netdev_attribute("nic0", "address", "02:00:00:00:00:10");
    programs = {kPlugin};
    ASSERT_TRUE(start({{"interfaces", std::vector<std::string>{"nic*"}}}));
  }
  // The server gives 10.9.8.50, and is the gateway.
  void run_server() {
    server.emplace(
        fmt::format("dnsmasq --keep-in-foreground --conf-file=/dev/null --user=root --port=0 --no-ping "
                    "--bind-interfaces --interface=nic0p --dhcp-range=10.9.8.50,10.9.8.50,255.255.255.0,1h "
                    "--dhcp-authoritative --dhcp-leasefile={} --pid-file= --log-facility={}",
                    (folder / "leases").native(), (folder / "log").native()));
    ASSERT_TRUE(eventually([&] { return fs::exists(folder / "log") && log().contains("sockets bound exclusively"); }));
  }
  void run_plugin_daemon() {
    plugin_daemon.emplace(fmt::format("{} daemon -socketpath {} -timeout 1s -resendmax 1s 2>{}", kPlugin,
                                      socket().native(), (folder / "daemon").native()));
    ASSERT_TRUE(eventually([&] { return fs::exists(socket()); }));
  }
  fs::path socket() const { return folder / "socket"; }
  ModuleClaim claim_by_dhcp() {
    return claim_of(
        "u1", {"nic-nic0"},
        fmt::format(R"("ipam":{{"mode":"Delegate","config":"{{\"name\":\"lan\",\"ipam\":{{\"type\":\"dhcp\",)"
                    R"(\"daemonSocketPath\":\"{}\"}}}}"}})",
                    socket().native()),
        "NicConfig", ConfigSource::kClass);
  }
  // Takes the plugin's time if no server responds.
  Status attach(const ModuleClaim& claimed, const SandboxedPod& pod) {
    return run(module->call(AttachCall{claimed, pod}, soon()), std::chrono::seconds(40));
  }
  std::string refusal(const ModuleClaim& claimed, const SandboxedPod& pod) {
    const Status attached = attach(claimed, pod);
    return attached ? "attached" : attached.error().message;
  }
  bool is_at_home() const { return node.ip("link show nic0"); }
  std::string log() const { return read_file(folder / "log", 1 << 20).value_or(""); }
  std::string leases() const { return read_file(folder / "leases", 1 << 20).value_or(""); }
  std::size_t given() const {
    std::size_t count = 0;
    const std::string text = log();
    for (auto at = text.find("DHCPACK"); at != std::string::npos; at = text.find("DHCPACK", at + 1)) ++count;
    return count;
  }

  NetworkNamespace node;
  std::optional<Background> server, plugin_daemon;
};
INSTANTIATE_TEST_SUITE_P(Isolation, NicDhcp, ::testing::Values(Isolation::kInProcess, Isolation::kProcess),
                         name_of_isolation);

TEST_P(NicDhcp, ThePodHasTheAddressOfTheServerUntilItsSandboxEnds) {
  run_server();
  run_plugin_daemon();
  ModuleClaim claimed = claim_by_dhcp();
  const auto prepared = prepare(claimed);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_THAT(prepared->statements.at(0).network->ips, IsEmpty());
  for (const char* name : {"first", "second sandbox of the same pod"}) {
    const DhcpPod pod;
    const Status attached = attach(claimed, pod.pod());
    ASSERT_TRUE(attached) << attached.error().message;
    EXPECT_TRUE(pod.ip_says("address show nic0", "inet 10.9.8.50/24")) << name;
    EXPECT_TRUE(pod.ip_says("route show", "default via 10.9.8.1 dev nic0")) << name;
    EXPECT_TRUE(pod.run("ping -c 1 -W 2 10.9.8.1 >&2")) << name;
    const std::size_t before = given();
    EXPECT_TRUE(attach(claimed, pod.pod())) << "for the next container";
    EXPECT_EQ(given(), before);
    EXPECT_THAT(leases(), HasSubstr("10.9.8.50"));
    ASSERT_TRUE(run(module->call(DetachCall{claimed, pod.pod()}, soon())));
    EXPECT_TRUE(eventually([&] { return leases().empty(); })) << "the plugin tells the server that the lease is over";
    EXPECT_TRUE(is_at_home());
  }
  EXPECT_TRUE(unprepare(claimed));
}

TEST_P(NicDhcp, AnAttachThatWasKilledBeforeTheAddressIsRepeated) {
  run_server();
  run_plugin_daemon();
  ModuleClaim claimed = claim_by_dhcp();
  ASSERT_TRUE(prepare(claimed));
  const DhcpPod pod;
  ASSERT_TRUE(attach(claimed, pod.pod()));
  ASSERT_TRUE(pod.ip("address flush dev nic0 scope global"));
  ASSERT_TRUE(attach(claimed, pod.pod()));
  EXPECT_TRUE(pod.ip_says("address show nic0", "inet 10.9.8.50/24"));
  EXPECT_TRUE(pod.ip_says("route show", "default via 10.9.8.1 dev nic0"));
  EXPECT_TRUE(unprepare(claimed)) << "without a detach";
}

TEST_P(NicDhcp, WithoutAnAddressTheInterfaceStaysOnTheNode) {
  ModuleClaim claimed = claim_by_dhcp();
  ASSERT_TRUE(prepare(claimed));
  const DhcpPod pod;
  SandboxedPod unknown = pod.pod();
  unknown.network_namespace_path.clear();
  EXPECT_THAT(refusal(claimed, unknown), AllOf(HasSubstr("interface 'nic0'"), HasSubstr("enable NRI in the runtime")));
  EXPECT_TRUE(is_at_home());
  EXPECT_THAT(refusal(claimed, pod.pod()), AllOf(HasSubstr("'dhcp' of interface 'nic0'"), HasSubstr(socket().native())))
      << "the plugin's daemon does not run";
  EXPECT_TRUE(is_at_home());
  run_plugin_daemon();
  if (isolation == Isolation::kProcess) {  // it takes the plugin seconds
    EXPECT_THAT(refusal(claimed, pod.pod()), HasSubstr("'dhcp' of interface 'nic0' gave no address: ")) << "no server";
    EXPECT_TRUE(is_at_home());
  }
  run_server();
  EXPECT_EQ(refusal(claimed, pod.pod()), "attached");
}

TEST_P(NicDhcp, AClaimEndsWithoutThePluginsDaemon) {
  run_server();
  run_plugin_daemon();
  ModuleClaim claimed = claim_by_dhcp();
  ASSERT_TRUE(prepare(claimed));
  const DhcpPod pod;
  ASSERT_TRUE(attach(claimed, pod.pod()));
  plugin_daemon.reset();
  EXPECT_TRUE(run(module->call(DetachCall{claimed, pod.pod()}, soon())));
  EXPECT_TRUE(is_at_home());
  EXPECT_TRUE(unprepare(claimed));
}

TEST_P(NicDhcp, AClaimIsNotPreparedIfThePluginMayNotRun) {
  let_go();
  programs.clear();
  ASSERT_TRUE(start({{"interfaces", std::vector<std::string>{"nic*"}}}));
  ModuleClaim claimed = claim_of("u1", {"nic-nic0"}, R"("ipam":{"mode":"DHCP"})", "NicConfig");
  const auto prepared = prepare(claimed);
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.error().message, AllOf(HasSubstr("may not run 'dhcp'"), HasSubstr("the key programs")));
}

TEST_P(NicDhcp, AClaimMayAskForItInTwoWays) {
  for (const char* params : {R"("ipam":{"mode":"DHCP"})", R"("interface":{"dhcp":true})",
                             R"("interface":{"dhcp":true},"ipam":{"mode":"DHCP"})"}) {
    ModuleClaim claimed = claim_of("u1", {"nic-nic0"}, params, "NicConfig");
    ASSERT_TRUE(prepare(claimed)) << params;
    const DhcpPod pod;
    EXPECT_THAT(refusal(claimed, pod.pod()), HasSubstr("/run/cni/dhcp.sock")) << params;
    EXPECT_TRUE(unprepare(claimed)) << params;
  }
  ModuleClaim both = claim_of("u1", {"nic-nic0"}, R"("interface":{"dhcp":true},"ipam":{"mode":"Claim"})", "NicConfig");
  const auto refused = prepare(both);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("interface.dhcp: it contradicts ipam.mode: 'Claim'"));
}

}  // namespace
}  // namespace cardcage
