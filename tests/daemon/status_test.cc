// The example of `cagectl status` in docs/operator.md equals the daemon's output.
#include <regex>

#include "host/core/file.h"
#include "tests/daemon/daemon_fixture.h"
#include "tests/fakes/fake_pod_resources.h"
#include "tests/fakes/source_folder.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

constexpr const char* kExampleFpga = "example.com/fpga";

class StatusTest : public DaemonTest {
 protected:
  StatusTest() {
    daemon.configure(
        daemon.node_section((daemon.folder() / "node").native()) +
        module("mock", "devices = [\"gpu:2\"]", std::string("dra\"\ndriver = \"") + kDriver) +
        module("nic", "fail_create = \"the driver 'mlx5_core' is not loaded\"", "dra\"\ndriver = \"nic.example.com") +
        module("fpga", "devices = [\"fpga:8\"]\nscript = [\"0s health fpga-3 bad PortError\"]",
               std::string("device-plugin\"\nresource = \"") + kExampleFpga));
  }

  static std::string module(const std::string& name, const std::string& options, const std::string& serve) {
    return "[[module]]\nname = \"" + name + "\"\npath = \"libcardcage_mock.so\"\n[module.options]\n" + options +
           "\n[[module.serve]]\napi = \"" + serve + "\"\n";
  }
  // Removes text that differs from run to run, and the lines that need an API server, which the embedded node does not
  // have.
  static std::string comparable(std::string text) {
    for (const auto& [pattern, with] :
         {std::pair{"pid [0-9]+, up [0-9a-z]+", "pid N, up T"}, std::pair{"config .*", "config"},
          std::pair{"(api server|pods api) .*\n", ""}, std::pair{"generation [0-9]+", "generation N"}})
      text = std::regex_replace(text, std::regex(pattern), with);
    return text;
  }

  FakePodResources pods{daemon.folder() / "kubelet", daemon.folder() / "device-plugins"};
};

TEST_F(StatusTest, LooksAsDocumented) {
  pods.start();
  start_and_register();
  ASSERT_TRUE(manager.wait_allocatable(kExampleFpga, 7)) << daemon.log();
  for (const char* pod : {"one", "two"}) {
    const auto grant = manager.admit(pod, "main", kExampleFpga, 1);
    ASSERT_TRUE(grant) << grant.error().message;
    pods.put_pod({"default", pod, std::string("uid-") + pod, {{"main", {{kExampleFpga, grant->ids}}}}});
  }
  const auto golden = read_file(source_folder() / "tests/golden/ctl/status.txt", 100'000);
  ASSERT_TRUE(golden);
  EXPECT_TRUE(manager.wait_for([&] { return comparable(cagectl("status").text) == comparable(*golden); }))
      << comparable(cagectl("status").text) << "and not\n"
      << comparable(*golden);
}

TEST_F(StatusTest, ACordonIsReported) {
  daemon.start();
  ASSERT_TRUE(shows("device cordon gpu-1 --reason 'loose cable'", "device 'gpu-1' is cordoned"));
  EXPECT_TRUE(shows("health gpu-1", ", cordoned"));
  EXPECT_THAT(cagectl("--json devices").text, testing::HasSubstr("\"reason\": \"loose cable\""));
}

TEST_F(StatusTest, AModuleWithoutDevicesIsAWarning) {
  configure("devices = []");
  daemon.start();
  EXPECT_TRUE(shows("status", "warning: module 'mock' finds no devices on this node; the daemon's log says"));
}

}  // namespace
}  // namespace cardcage
