// The controller of ComputeDomains against an API server.
#include "fleet/compute_domain_controller.h"

#include <gmock/gmock.h>

#include <boost/asio/bind_cancellation_slot.hpp>

#include "host/core/file.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_api_server.h"
#include "tests/unit/fleet/compute_domain_objects.h"
#include "tests/unit/fleet/fleet_process.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char *kDomainPath = "namespaces/ns/computedomains",
                     *kTemplatePath = "namespaces/ns/resourceclaimtemplates",
                     *kClaimPath = "namespaces/ns/resourceclaims", *kSlicePath = "resourceslices", *kNodePath = "nodes",
                     *kDomainName = "my-compute-domain", *kTemplateName = "imex-channel-0";

class ComputeDomainControllerTest : public CoreFixture {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_file_atomically(folder / "ca.crt", server.certificates().ca, 0600, false));
    ASSERT_TRUE(write_file_atomically(folder / "token", "t1", 0600, false));
    server.require_token("t1");
  }
  void TearDown() override { stop(); }
  void start() {
    const std::string url = server.url();
    auto credentials =
        Credentials::from_service_account(clock, {"127.0.0.1", url.substr(url.rfind(':') + 1), folder.path()});
    ASSERT_TRUE(credentials);
    session.emplace(core, clock, std::move(*credentials),
                    ApiPace{.request_timeout = 20s, .first_pause = 1ms, .longest_pause = 5ms});
    controller.emplace(core, clock, *session, WatchPace{.first_pause = 1ms, .longest_pause = 20ms, .settled = 50ms});
    ended = false;
    asio::co_spawn(core, controller->run(),
                   asio::bind_cancellation_slot(cancel.slot(), [this](const std::exception_ptr&) { ended = true; }));
  }
  void stop() {
    cancel.emit(asio::cancellation_type::terminal);
    EXPECT_TRUE(until([&] { return ended || !controller; }));
    controller.reset();
  }
  bool until(const std::function<bool()>& done) {
    const Instant end = std::chrono::steady_clock::now() + 60s;
    while (!done() && std::chrono::steady_clock::now() < end) {
      core.restart();
      core.run_one_for(10ms);
    }
    return done();
  }
  std::string status() {
    const auto stored = server.get(kDomainPath, kDomainName);
    return stored ? std::string(text_at(object_at(*stored, "status"), "status")) : "gone";
  }
  bool is_ready() {
    return until([&] { return status() == "Ready"; });
  }
  std::vector<std::string> nodes() {
    std::vector<std::string> lines;
    const auto stored = server.get(kDomainPath, kDomainName);
    for (const json::value& node : array_at(object_at(stored.value(), "status"), "nodes"))
      lines.push_back(fmt::format("{} {} {}", text_at(as_object(node), "name"), text_at(as_object(node), "ipAddress"),
                                  text_at(as_object(node), "status")));
    return lines;
  }

  FakeApiServer server;
  ScratchFolder folder;
  SystemClock clock;
  std::optional<ApiSession> session;
  std::optional<ComputeDomainController> controller;
  asio::cancellation_signal cancel;
  bool ended = true;
};

TEST_F(ComputeDomainControllerTest, MakesTheTemplateThatTheObjectNames) {
  server.put(kDomainPath, domain_object());
  start();
  ASSERT_TRUE(is_ready());
  EXPECT_TRUE(controller->listed());
  const auto made = server.get(kTemplatePath, kTemplateName);
  ASSERT_TRUE(made);
  EXPECT_EQ(text_at(object_at(object_at(*made, "metadata"), "labels"), "resource.nvidia.com/computeDomain"), "uid-a");
  const auto domain = server.get(kDomainPath, kDomainName);
  EXPECT_EQ(array_at(object_at(domain.value(), "metadata"), "finalizers"),
            json::array({"resource.nvidia.com/computeDomain"}));
}

TEST_F(ComputeDomainControllerTest, RemovesTheTemplateWithTheObject) {
  server.put(kDomainPath, domain_object());
  start();
  ASSERT_TRUE(is_ready());
  server.remove(kDomainPath, kDomainName);
  EXPECT_TRUE(until([&] { return !server.get(kDomainPath, kDomainName); }));
  EXPECT_THAT(server.names(kTemplatePath), IsEmpty());
}

TEST_F(ComputeDomainControllerTest, RemovesTheTemplateOfAnObjectThatWasDeletedMeanwhile) {
  server.put(kDomainPath, domain_object());
  start();
  ASSERT_TRUE(is_ready());
  stop();
  server.remove(kDomainPath, kDomainName);
  ASSERT_TRUE(server.get(kDomainPath, kDomainName)) << "its finalizer holds it";
  start();
  EXPECT_TRUE(until([&] { return !server.get(kDomainPath, kDomainName); }));
  EXPECT_THAT(server.names(kTemplatePath), IsEmpty());
}

TEST_F(ComputeDomainControllerTest, KeepsTheNodesAndTheirReadiness) {
  server.put(kDomainPath, domain_object("", 2));
  start();
  ASSERT_TRUE(until([&] { return server.get(kTemplatePath, kTemplateName).has_value(); }));
  for (const char* node : {"n1", "n2"}) {
    server.put(kNodePath, node_object(node, std::string("10.0.0.") + node[1]));
    server.put(kSlicePath, channel_slice_object(node, "c.7"));
    server.put(kClaimPath, channel_claim_object(node, node));
  }
  ASSERT_TRUE(is_ready());
  EXPECT_TRUE(until([&] { return nodes() == std::vector<std::string>{"n1 10.0.0.1 Ready", "n2 10.0.0.2 Ready"}; }));
  server.put(
      kSlicePath,
      channel_slice_object(
          "n2", "c.7", R"([{"key":"compute-domain.nvidia.com/imex","value":"UNAVAILABLE","effect":"NoSchedule"}])"));
  EXPECT_TRUE(until([&] { return status() == "NotReady"; }));
  EXPECT_THAT(nodes(), ElementsAre("n1 10.0.0.1 Ready", "n2 10.0.0.2 NotReady"));
  server.put(kSlicePath, channel_slice_object("n2", "c.7"));
  EXPECT_TRUE(is_ready());
  server.remove(kClaimPath, "n1");
  EXPECT_TRUE(until([&] { return status() == "NotReady"; })) << "it wants two nodes";
  EXPECT_THAT(nodes(), ElementsAre("n2 10.0.0.2 Ready"));
  server.put(kNodePath, node_object("n2", "10.0.1.2"));
  EXPECT_TRUE(until([&] { return nodes() == std::vector<std::string>{"n2 10.0.1.2 Ready"}; })) << "it has moved";
}

TEST_F(ComputeDomainControllerTest, ATemplateOfSomebodyElseKeepsTheDomainFromBeingReady) {
  server.put(kTemplatePath, object_of(R"({"metadata":{"namespace":"ns","name":"imex-channel-0"},"spec":{}})"));
  server.put(kDomainPath, domain_object());
  start();
  ASSERT_TRUE(until([&] { return status() == "NotReady"; }));
  server.remove(kTemplatePath, kTemplateName);
  EXPECT_TRUE(is_ready()) << "the name is free";
}

TEST_F(ComputeDomainControllerTest, ALostTemplateIsMadeAgain) {
  server.put(kDomainPath, domain_object());
  start();
  ASSERT_TRUE(is_ready());
  server.remove(kTemplatePath, kTemplateName);
  EXPECT_TRUE(until([&] { return server.get(kTemplatePath, kTemplateName).has_value(); }));
  EXPECT_TRUE(is_ready());
}

TEST_F(ComputeDomainControllerTest, RefusedAndBrokenWritesAreTriedAgain) {
  server.inject({.status = 409, .method = "PUT", .target = "computedomains", .times = 2});
  server.inject({.kind = Fault::Kind::kActAndReset, .method = "POST", .target = "resourceclaimtemplates"});
  server.inject({.status = 500, .method = "DELETE", .target = "resourceclaimtemplates", .times = 2});
  server.put(kDomainPath, domain_object());
  start();
  ASSERT_TRUE(is_ready());
  server.remove(kDomainPath, kDomainName);
  EXPECT_TRUE(until([&] { return !server.get(kDomainPath, kDomainName); }));
  EXPECT_THAT(server.names(kTemplatePath), IsEmpty());
}

TEST_F(ComputeDomainControllerTest, WritesNothingOnceAllIsSettled) {
  server.put(kDomainPath, domain_object());
  start();
  ASSERT_TRUE(is_ready());
  const auto writes = [&] {
    const auto requests = server.requests();
    return std::ranges::count_if(requests, [](const HttpsRequest& request) { return request.method != "GET"; });
  };
  const auto before = writes();
  server.put(kSlicePath, channel_slice_object("n9", "c.7"));
  server.put(kDomainPath, [] {
    json::object other = domain_object();
    other["metadata"].as_object()["name"] = "second";
    other["metadata"].as_object()["uid"] = "uid-b";
    other["spec"].at("channel").at("resourceClaimTemplate").as_object()["name"] = "second";
    return other;
  }());
  ASSERT_TRUE(until([&] {
    const auto second = server.get(kDomainPath, "second");
    return text_at(object_at(second.value(), "status"), "status") == "Ready";
  }));
  EXPECT_EQ(writes() - before, 4) << "the finalizer, the template and two statuses of the second domain";
}

// Only on request does the program write anything.
TEST(ComputeDomainProgramTest, KeepsDomainsOnRequest) {
  FakeApiServer server;
  server.require_token("t1");
  server.put(kDomainPath, domain_object());
  FleetProcess fleet(server.url(), server.certificates());
  fleet.start();
  fleet.sign_in();
  ASSERT_TRUE(fleet.shows(R"("synced":true)")) << fleet.log();
  EXPECT_EQ(fleet.end(SIGTERM), 0) << fleet.log();
  const auto requests = server.requests();
  EXPECT_TRUE(std::ranges::all_of(requests, [](const HttpsRequest& request) { return request.method == "GET"; }));
  fleet.start({"--compute-domains"});
  EXPECT_TRUE(FleetProcess::wait_until([&] {
    const auto stored = server.get(kDomainPath, kDomainName);
    return text_at(object_at(stored.value(), "status"), "status") == "Ready";
  })) << fleet.log();
  EXPECT_THAT(server.names(kTemplatePath), ElementsAre(kTemplateName));
  EXPECT_EQ(fleet.end(SIGTERM), 0) << fleet.log();
}

}  // namespace
}  // namespace cardcage
