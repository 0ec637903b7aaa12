// The real program against a fake API server.
#include <gmock/gmock.h>

#include "host/apiserver/http.h"
#include "tests/fakes/fake_api_server.h"
#include "tests/fakes/http_get.h"
#include "tests/fakes/run_task.h"
#include "tests/unit/fleet/fleet_objects.h"
#include "tests/unit/fleet/fleet_process.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;

class FleetProgramTest : public ::testing::Test {
 protected:
  FleetProgramTest() { server.require_token("t1"); }

  FakeApiServer server;
  FleetProcess fleet{server.url(), server.certificates()};
};

TEST_F(FleetProgramTest, ServesThePageAndItsFigures) {
  server.put("resourceslices", slice_object({.devices = {"gpu-0", "<script>"}}));
  server.put("resourceclaims", claim_object("c1", "n1", "gpu-0"));
  fleet.start();
  fleet.sign_in();
  ASSERT_TRUE(fleet.shows(R"("synced":true,"nodes":1,"devices":2,"free":1,"held":1)")) << fleet.log();
  EXPECT_THAT(fleet.get("/").body, HasSubstr("<!doctype html>"));
  EXPECT_THAT(fleet.get("/api/v1/nodes?state=held").body, HasSubstr(R"("total":1)"));
  EXPECT_THAT(fleet.get("/api/v1/heat").body, HasSubstr(R"("values":[50])"));
  EXPECT_THAT(fleet.get("/api/v1/nodes/n1").body, HasSubstr(R"("attributes":{"productName":"G1")"));
  EXPECT_EQ(fleet.get("/api/v1/nodes/n2").status, 404u);
  const FetchedPage wrong = fleet.get("/api/v1/nodes?limit=501");
  EXPECT_EQ(wrong.status, 400u);
  EXPECT_EQ(wrong.body, R"({"error":"limit must be a number from 1 to 500"})");
  EXPECT_EQ(fleet.end(SIGTERM), 0) << fleet.log();
}

TEST_F(FleetProgramTest, StrangersGetNothing) {
  server.put("resourceslices", slice_object({}));
  fleet.start();
  fleet.sign_in();
  for (const char* path : {"/", "/api/v1/summary", "/api/v1/nodes/n1", "/api/v1/watch", "/main.js"}) {
    const FetchedPage page = fetch(fleet.port(), path);
    EXPECT_EQ(page.status, 401u) << path;
    EXPECT_EQ(page.body.find("gpu"), std::string::npos) << path;
  }
}

TEST_F(FleetProgramTest, ChangesReachTheNextRequest) {
  server.put("resourceslices", slice_object({}));
  fleet.start();
  fleet.sign_in();
  ASSERT_TRUE(fleet.shows(R"("devices":1,"free":1)"));
  server.put("resourceclaims", claim_object("c1", "n1", "gpu-0"));
  EXPECT_TRUE(fleet.shows(R"("devices":1,"free":0,"held":1)"));
}

TEST_F(FleetProgramTest, KeepsServingWithoutTheApiServer) {
  server.put("resourceslices", slice_object({}));
  fleet.start();
  fleet.sign_in();
  ASSERT_TRUE(fleet.shows(R"("synced":true)"));
  server.go_down();
  EXPECT_TRUE(fleet.shows("ResourceSlices are as of 20"));
  EXPECT_THAT(fleet.get("/api/v1/nodes").body, HasSubstr(R"("name":"n1")"));
  server.put("resourceslices", slice_object({.name = "s2", .node = "n2", .pool = "n2"}));
  server.come_up();
  EXPECT_TRUE(fleet.shows(R"("nodes":2)")) << fleet.log();
}

TEST_F(FleetProgramTest, ProbesAndFigures) {
  const std::uint16_t port = free_port();
  server.inject({.status = 503, .target = "resourceclaims", .times = 1'000'000});
  fleet.start({"--health-listen", fmt::format("127.0.0.1:{}", port)});
  fleet.sign_in();
  EXPECT_TRUE(FleetProcess::wait_until([&] { return fetch(port, "/healthz").status == 200; }));
  EXPECT_EQ(fetch(port, "/readyz").status, 503u);
  EXPECT_THAT(fetch(port, "/metrics").body, HasSubstr("\ncardcage_fleet_lost_watches "));
  EXPECT_EQ(fetch(port, "/api/v1/summary").status, 404u);
}

TEST_F(FleetProgramTest, ReadyOnceEverythingIsRead) {
  const std::uint16_t port = free_port();
  server.put("resourceslices", slice_object({}));
  fleet.start({"--health-listen", fmt::format("127.0.0.1:{}", port)});
  EXPECT_TRUE(FleetProcess::wait_until([&] { return fetch(port, "/readyz").status == 200; })) << fleet.log();
  EXPECT_THAT(fetch(port, "/metrics").body, HasSubstr("\ncardcage_fleet_devices 1\n"));
}

TEST_F(FleetProgramTest, ToldOfChanges) {
  server.put("resourceslices", slice_object({}));
  fleet.start();
  fleet.sign_in();
  ASSERT_TRUE(fleet.shows(R"("synced":true)"));
  asio::io_context io;
  asio::ip::tcp::socket socket(io);
  socket.connect({asio::ip::address_v4::loopback(), fleet.port()});
  asio::write(socket, asio::buffer(fmt::format("GET /api/v1/watch HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nCookie: {}\r\n\r\n",
                                               fleet.port(), fleet.cookie())));
  std::string received;
  const auto events = [&] {
    std::size_t count = 0;
    for (auto at = received.find("event: change"); at != std::string::npos; at = received.find("event: change", at + 1))
      ++count;
    return count;
  };
  const auto read_until = [&](std::size_t count) {
    boost::system::error_code failed;
    while (events() < count && !failed) {
      std::array<char, 4096> some{};
      received.append(some.data(), socket.read_some(asio::buffer(some), failed));
    }
    return events() >= count;
  };
  ASSERT_TRUE(read_until(1)) << "the current revision comes at once";
  server.put("resourceclaims", claim_object("c1", "n1", "gpu-0"));
  EXPECT_TRUE(read_until(2)) << received;
  EXPECT_THAT(received, HasSubstr(R"(data: {"revision":)"));
}

// The status and body of a GET over TLS with the token.
HttpResponse get_with_token(std::uint16_t port, const std::string& authority, const std::string& token,
                            const std::string& path = "/api/v1/summary") {
  asio::io_context core;
  HttpClient client(core);
  const auto peer = std::make_shared<const HttpPeer>(HttpPeer{.url = fmt::format("https://127.0.0.1:{}", port),
                                                              .ca_pem = authority,
                                                              .client_certificate_pem = "",
                                                              .client_key_pem = "",
                                                              .bearer_token = token});
  HttpRequest request;
  request.path = path;
  return run_task(core, client.request(peer, std::move(request), std::chrono::seconds(30)), std::chrono::seconds(40))
      .value_or(HttpResponse{});
}

// The page as users of the cluster see it.
class FleetTlsTest : public FleetProgramTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_file_atomically(folder / "tls.crt", certificates.server, 0600, false));
    ASSERT_TRUE(write_file_atomically(folder / "tls.key", certificates.server_key, 0600, false));
    server.know_user("viewers-token", "viewer");
    server.allow("viewer", "get", "cardcage.dev/fleet/");
    server.put("resourceslices", slice_object({}));
  }
  void start_with_tls(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"--tls-cert", folder / "tls.crt", "--tls-key", folder / "tls.key"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    fleet.start(arguments);
    const std::string key = "port=";
    ASSERT_TRUE(FleetProcess::wait_until([&] { return fleet.log().find(key) != std::string::npos; }));
    const std::string log = fleet.log();
    port = static_cast<std::uint16_t>(std::stoi(log.substr(log.find(key) + key.size())));
  }

  const TestCertificates certificates = TestCertificates::make();
  const ScratchFolder folder;
  std::uint16_t port = 0;
};

TEST_F(FleetTlsTest, TheApiServerDecidesWhoMayLook) {
  server.know_user("strangers-token", "stranger");
  start_with_tls();
  EXPECT_EQ(fleet.output(), "") << "no address that works without a token";
  EXPECT_EQ(get_with_token(port, certificates.ca, "").status, 401);
  EXPECT_EQ(get_with_token(port, certificates.ca, "guessed").status, 401);
  const HttpResponse refused = get_with_token(port, certificates.ca, "strangers-token");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("stranger may not get fleet.cardcage.dev"));
  const HttpResponse allowed = get_with_token(port, certificates.ca, "viewers-token");
  EXPECT_EQ(allowed.status, 200);
  EXPECT_THAT(allowed.body, HasSubstr(R"("drivers":[)"));
  EXPECT_EQ(fleet.end(SIGTERM), 0) << fleet.log();
}

TEST_F(FleetTlsTest, VisitorsGetTheWaysToANodesPageThatTheyMayUse) {
  server.know_user("admins-token", "admin");
  server.know_user("others-token", "other");
  for (const char* user : {"admin", "other"}) server.allow(user, "get", "cardcage.dev/fleet/");
  for (const char* user : {"viewer", "admin"}) server.allow(user, "get", "cardcage.dev/nodes/n1");
  for (const char* verb : {"get", "create"}) server.allow("viewer", verb, "/pods/proxy/cardcage/web-1");
  for (const char* user : {"admin", "other"}) server.allow(user, "create", "/pods/portforward/cardcage/web-1");
  server.put("namespaces/cardcage/pods", web_pod_object("web-1", "n1"));
  start_with_tls({"--node-pages", "cardcage/app=web"});
  const std::string path = "/api/v1/namespaces/cardcage/pods/https:web-1:8443/proxy/";
  const auto node = [&](const char* token) {
    return get_with_token(port, certificates.ca, token, "/api/v1/nodes/n1").body;
  };
  const std::string proxied = R"("page":{"path":")" + path + R"(","command":"kubectl proxy",)" +
                              R"("address":"http://127.0.0.1:8001)" + path + R"("})";
  EXPECT_TRUE(FleetProcess::wait_until([&] { return node("viewers-token").find(proxied) != std::string::npos; }))
      << node("viewers-token");
  EXPECT_THAT(node("admins-token"),
              HasSubstr(R"("page":{"path":null,"command":"kubectl -n cardcage port-forward web-1 8444:8443",)"
                        R"("address":"https://127.0.0.1:8444/"})"));
  EXPECT_THAT(node("others-token"), HasSubstr(R"("page":null)")) << "who may not get nodes.cardcage.dev";
}

TEST_F(FleetProgramTest, LinksToThePagesOfNodesOnOnesOwnMachine) {
  server.put("resourceslices", slice_object({}));
  server.allow(FakeApiServer::kSelf, "get", "cardcage.dev/nodes/n1");
  server.allow(FakeApiServer::kSelf, "create", "/pods/portforward/cardcage/web-1");
  server.put("namespaces/cardcage/pods", web_pod_object("web-1", "n1"));
  fleet.start({"--node-pages", "cardcage/app=web"});
  fleet.sign_in();
  EXPECT_TRUE(FleetProcess::wait_until([&] {
    return fleet.get("/api/v1/nodes/n1").body.find("port-forward web-1 8444:8443") != std::string::npos;
  })) << fleet.log();
  server.remove("namespaces/cardcage/pods", "web-1");
  EXPECT_TRUE(FleetProcess::wait_until(
      [&] { return fleet.get("/api/v1/nodes/n1").body.find(R"("page":null)") != std::string::npos; }));
}

TEST_F(FleetProgramTest, RefusesWhatCannotWork) {
  struct Case {
    std::vector<std::string> arguments;
    std::string message;
  };
  for (const Case& wrong :
       {Case{{"--listen", "0.0.0.0:0"}, "give --tls-cert and --tls-key"}, Case{{"--listen", "localhost"}, "--listen"},
        Case{{"--tls-cert", "x"}, "--tls-cert and --tls-key belong together"},
        Case{{"--node-pages", "cardcage"}, "must be NAMESPACE/SELECTOR"},
        Case{{"--kubeconfig", "/nonexistent"}, "API server: "}}) {
    fleet.start(wrong.arguments);
    const int status = fleet.reap();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 0) << wrong.message;
    EXPECT_THAT(fleet.log(), HasSubstr(wrong.message));
  }
}

}  // namespace
}  // namespace cardcage
