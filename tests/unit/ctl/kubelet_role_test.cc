// prepare, unprepare and watch-health: cagectl as a process against a driver.
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <boost/json/parse.hpp>
#include <regex>

#include "host/rpc/unix_socket.h"
#include "sim/scratch_folder.h"
#include "tests/unit/ctl/cagectl_process.h"
#include "tests/unit/ctl/fake_driver.h"
#include "tests/unit/ctl/golden.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string claim(const std::string& name, const std::vector<std::string>& drivers) {
  std::string results;
  for (const auto& driver : drivers)
    results += fmt::format(R"({}{{"request":"main","driver":"{}","pool":"node1","device":"gpu-0"}})",
                           results.empty() ? "" : ",", driver);
  return fmt::format(
      R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{{"name":"{0}","namespace":"default","uid":"uid-{0}"}},"status":{{"allocation":{{"devices":{{"results":[{1}]}}}}}}}})",
      name, results);
}

class KubeletRoleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder / "cdi");
    auto* device = driver.prepared["uid-a"].add_devices();
    device->add_request_names("main");
    device->set_pool_name("node1");
    device->set_device_name("gpu-0");
    device->add_cdi_device_ids("example.com/gpu=uid-a-gpu-0");
    driver.prepared["uid-b"].set_error("device 'gpu-0' is held by claim default/a");
    write("cdi/a.json", R"({"cdiVersion":"0.5.0","kind":"example.com/gpu","containerEdits":{"env":["CLAIM=uid-a"]},
      "devices":[{"name":"uid-a-gpu-0","containerEdits":{"env":["GPU=0"],"deviceNodes":[{"path":"/dev/gpu0"},
      {"path":"/dev/gpu1","hostPath":"/dev/host1"}],"mounts":[{"hostPath":"/h","containerPath":"/c"}],
      "hooks":[{"hookName":"createContainer","path":"/bin/hook"}]}}]})");
    write("cdi/broken.json", "{");
    write("cdi/other.json", R"({"kind":"example.com/nic","devices":[1,{"name":2}]})");
  }
  std::string write(const std::string& name, const std::string& content) {
    EXPECT_TRUE(write_file_atomically(folder / name, content, 0600, false));
    return folder / name;
  }
  Ended cagectl(std::vector<std::string> arguments, const std::string& input = "") {
    const std::string command = arguments.front();
    arguments.insert(arguments.end(), {"--kubelet-root", folder.path().native()});
    if (command == "prepare") arguments.insert(arguments.end(), {"--cdi-dir", folder / "cdi"});
    return run_cagectl(arguments, input);
  }

  ScratchFolder folder;
  FakeDriver driver{folder.path(), "gpu.example.com"};
};

TEST_F(KubeletRoleTest, PreparesAndShowsWhatContainersGet) {
  const auto file = write("claim.json", claim("a", {"gpu.example.com"}));
  const Ended ended = cagectl({"prepare", file});
  EXPECT_EQ(ended.code, 0) << ended.err;
  expect_golden("prepare.txt", ended.out);
  expect_golden("prepare.json", cagectl({"prepare", file, "--json"}).out);
  EXPECT_THAT(driver.calls(), ElementsAre("prepare default/a/uid-a", "prepare default/a/uid-a"));
}

TEST_F(KubeletRoleTest, AFailedClaimFailsTheCommandButNotOtherClaims) {
  const auto list = fmt::format(R"({{"kind":"List","items":[{},{},{}]}})", claim("b", {"gpu.example.com"}),
                                claim("a", {"gpu.example.com"}), claim("unknown", {"gpu.example.com"}));
  const Ended ended = cagectl({"prepare", "-"}, list);
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.err, "cagectl: 2 of 3 claims not prepared\n");
  EXPECT_THAT(ended.out, StartsWith("claim default/b (uid-b): gpu.example.com: device 'gpu-0' is held by claim "
                                    "default/a\nclaim default/a (uid-a): prepared by gpu.example.com\n"));
  EXPECT_THAT(
      ended.out,
      HasSubstr("claim default/unknown (uid-unknown): gpu.example.com: the driver's response does not mention"));
  EXPECT_THAT(driver.calls(), ElementsAre("prepare default/b/uid-b default/a/uid-a default/unknown/uid-unknown"));
}

TEST_F(KubeletRoleTest, UnpreparesWithEveryDriverOfTheAllocation) {
  FakeDriver nic(folder.path(), "nic.example.com");
  nic.unprepare_errors["uid-a"] = "busy";
  const Ended ended =
      cagectl({"unprepare", "-"}, claim("a", {"gpu.example.com", "nic.example.com", "gpu.example.com"}));
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.out,
            "claim default/a (uid-a): unprepared by gpu.example.com\nclaim default/a (uid-a): nic.example.com: busy\n");
  EXPECT_THAT(driver.calls(), ElementsAre("unprepare default/a/uid-a"));
  EXPECT_THAT(nic.calls(), ElementsAre("unprepare default/a/uid-a"));
}

TEST_F(KubeletRoleTest, AnUnallocatedClaimNeedsANamedDriver) {
  const Ended refused = cagectl({"prepare", "-"}, claim("a", {}));
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.err, "cagectl: claim default/a is not allocated; name the driver with --driver\n");
  EXPECT_THAT(driver.calls(), IsEmpty());
  EXPECT_EQ(cagectl({"prepare", "-", "--driver", "gpu.example.com"}, claim("a", {})).code, 0);
}

TEST_F(KubeletRoleTest, ADriverSocketCanBeNamedDirectly) {
  const Ended ended = run_cagectl({"unprepare", "-", "--driver-socket", driver.service()}, claim("a", {"whatever"}));
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "claim default/a (uid-a): unprepared by whatever\n");
}

TEST_F(KubeletRoleTest, ADriverThatDoesNotAnswerIsNotTakenForAbsent) {
  const UniqueFd hung = new_unix_socket();
  ASSERT_EQ(bind_unix(hung, unix_address(folder / "plugins_registry/hung-reg.sock").value()), 0);
  ASSERT_EQ(::listen(hung.get(), 5), 0);
  const Ended ended = cagectl({"prepare", "-"}, claim("a", {"hung.example.com"}));
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.err,
            "cagectl: driver 'hung.example.com' was not found, but no process responded within 2 s at hung-reg.sock in "
            "plugins_registry; look at the log of its daemon\n");
}

TEST_F(KubeletRoleTest, AMissingDriverIsExitCodeThreeWithAHint) {
  const Ended ended = cagectl({"prepare", "-"}, claim("a", {"gpu.exmaple.com"}));
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.err, fmt::format("cagectl: driver 'gpu.exmaple.com' has no socket below {}/plugins_registry (did you "
                                   "mean 'gpu.example.com'?); is cardcage running?\n",
                                   folder.path().native()));
  const Ended dead = run_cagectl({"prepare", "-", "--driver-socket", "/nonexistent/dra.sock"}, claim("a", {"x"}));
  EXPECT_EQ(dead.code, 3);
  EXPECT_THAT(dead.err, StartsWith("cagectl: driver 'x' at /nonexistent/dra.sock: "));
}

TEST_F(KubeletRoleTest, AFileWithoutClaimsIsRefusedWithTheReason) {
  const auto error = [&](const std::string& text) { return cagectl({"prepare", "-"}, text).err; };
  EXPECT_THAT(error("kind: ResourceClaim"), HasSubstr("'-': not JSON ("));
  EXPECT_THAT(error("kind: ResourceClaim"), HasSubstr("write it with 'kubectl get resourceclaim -o json'"));
  EXPECT_THAT(error(""), HasSubstr("'-': not JSON"));
  EXPECT_EQ(error("[]"), "cagectl: '-': expected a ResourceClaim, found an object without a kind\n");
  EXPECT_EQ(error(R"({"kind":"Pod"})"), "cagectl: '-': expected a ResourceClaim, found a 'Pod'\n");
  EXPECT_EQ(error(R"({"kind":"ResourceClaim"})"), "cagectl: '-': a ResourceClaim has no metadata.name\n");
  EXPECT_EQ(error(R"({"kind":"ResourceClaim","metadata":{"name":"n"}})"),
            "cagectl: '-': claim default/n has no metadata.uid\n");
  EXPECT_EQ(error(R"({"items":[{"kind":"ResourceClaim","metadata":5}]})"),
            "cagectl: '-': a ResourceClaim has no metadata.name\n");
  EXPECT_THAT(cagectl({"prepare", "/nonexistent"}).err, HasSubstr("cannot open '/nonexistent'"));
  EXPECT_THAT(error(std::string(100'000, '[')), HasSubstr("not JSON"));
  EXPECT_THAT(driver.calls(), IsEmpty());
}

TEST_F(KubeletRoleTest, ReportsEditsThatCannotBeFound) {
  std::filesystem::remove(folder / "cdi/a.json");
  const Ended ended = cagectl({"prepare", "-"}, claim("a", {"gpu.example.com"}));
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, HasSubstr("edits unknown: no CDI file has the device 'example.com/gpu=uid-a-gpu-0'"));
}

api::health_v1::NodeWatchResourcesResponse health(std::initializer_list<std::pair<std::string, int>> devices,
                                                  const std::string& message = "") {
  api::health_v1::NodeWatchResourcesResponse response;
  for (const auto& [name, state] : devices) {
    auto* device = response.add_devices();
    device->mutable_device()->set_pool_name("node1");
    device->mutable_device()->set_device_name(name);
    device->set_health(static_cast<api::health_v1::HealthStatus>(state));
    device->set_last_updated_time(1'800'000'000 + state);
    device->set_health_check_timeout_seconds(30);
    if (state == 2) device->set_message(message);
  }
  return response;
}

TEST_F(KubeletRoleTest, FollowsChangesOfHealth) {
  driver.health = {health({{"gpu-0", 1}, {"gpu-1", 0}}), health({{"gpu-0", 1}, {"gpu-1", 0}}),
                   health({{"gpu-0", 2}}, "fell off the bus")};
  const Ended ended = cagectl({"watch-health", "--messages", "3"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out,
            "2027-01-15T08:00:01Z  node1/gpu-0  healthy\n"
            "2027-01-15T08:00:00Z  node1/gpu-1  unknown\n"
            "2027-01-15T08:00:02Z  node1/gpu-0  healthy -> unhealthy: fell off the bus\n"
            "2027-01-15T08:00:00Z  node1/gpu-1  gone\n");
}

TEST_F(KubeletRoleTest, PrintsHealthAsOneJsonLinePerMessage) {
  driver.health = {health({{"gpu-0", 1}}), health({{"gpu-0", 2}}, "broken")};
  const Ended ended = cagectl({"watch-health", "--messages", "2", "--json", "--driver", "gpu.example.com"});
  expect_golden("watch_health.json", ended.out);
}

TEST_F(KubeletRoleTest, FollowsTheHealthOfAnOlderDriver) {
  driver.serve(false);
  driver.health = {health({{"gpu-0", 1}})};
  const Ended ended = cagectl({"watch-health", "--messages", "1"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "2027-01-15T08:00:01Z  node1/gpu-0  healthy\n");
}

TEST_F(KubeletRoleTest, AHealthStreamThatEndsIsExitCodeThree) {
  driver.end_stream = true;
  const Ended ended = cagectl({"watch-health"});
  EXPECT_EQ(ended.code, 3);
  EXPECT_THAT(ended.err, HasSubstr("the driver ended the stream"));
}

TEST_F(KubeletRoleTest, SeveralDriversRequireAName) {
  const FakeDriver nic(folder.path(), "nic.example.com");
  const Ended ended = cagectl({"watch-health"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.err, "cagectl: there are 2 drivers; name one with --driver: gpu.example.com, nic.example.com\n");
}

}  // namespace
}  // namespace cardcage
