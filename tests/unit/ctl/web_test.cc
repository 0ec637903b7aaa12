// cagectl web: as a process against an admin server over a fake daemon.
#include <gmock/gmock.h>

#include <boost/json/parse.hpp>
#include <future>
#include <thread>

#include "tests/fakes/admin_fixture.h"
#include "tests/unit/ctl/cagectl_process.h"
#include "tests/unit/ctl/page_process.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class PageTest : public AdminFixture {
 protected:
  void SetUp() override {
    daemon = FakeDaemon::sick_node();
    start();
  }
  std::string printed(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"--socket", socket.native(), "--json"});
    return run_cagectl(arguments).out;
  }
  void on_core(std::function<void()> work) {
    std::promise<void> done;
    asio::post(core, [&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
};

TEST_F(PageTest, BodiesAreWhatTheCommandsPrint) {
  const PageProcess page(socket);
  const std::pair<const char*, std::vector<std::string>> reports[] = {
      {"/api/v1/status", {"status"}},
      {"/api/v1/modules", {"modules"}},
      {"/api/v1/devices", {"devices"}},
      {"/api/v1/claims", {"claims"}},
      {"/api/v1/history", {"history"}},
      {"/api/v1/history?limit=1", {"history", "--limit", "1"}},
      {"/api/v1/health-rules", {"health", "rules"}},
      {"/api/v1/health-events", {"health"}},
      {"/api/v1/health-events?device=gpu-1", {"health", "gpu-1"}},
      {"/api/v1/health-events?device=gpu-7", {"health", "gpu-7"}},
      {"/api/v1/catalogue", {"catalogue"}}};
  for (const auto& [path, command] : reports) {
    const std::string response = page.get(path);
    EXPECT_THAT(response, AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Content-Type: application/json\r\n"),
                                HasSubstr("Cache-Control: no-store\r\n")))
        << path;
    EXPECT_EQ(body_of(response), printed(command)) << path;
  }
}

TEST_F(PageTest, ServesThePage) {
  const PageProcess page(socket);
  EXPECT_THAT(page.get("/"), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("text/html"), HasSubstr("<!doctype html>")));
  EXPECT_THAT(page.get("/page/index.html"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(page.printed(), HasSubstr("The address works once, in one browser."));
}

TEST_F(PageTest, RefusesParametersThatItCannotRead) {
  const PageProcess page(socket);
  EXPECT_THAT(page.get("/api/v1/history?limit=0"), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("a number from 1 to")));
  EXPECT_THAT(page.get("/api/v1/history?since=never"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(page.get("/api/v1/health-events?device=gpu-99"),
              AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("no device 'gpu-99'")));
}

TEST_F(PageTest, NamesReachThePageAsText) {
  const std::string name = "<script>alert(\"1\")</script>";
  on_core([&] { daemon.device_reports[0].device.name = name; });
  const PageProcess page(socket);
  const std::string response = page.get("/api/v1/devices");
  EXPECT_THAT(response, HasSubstr("X-Content-Type-Options: nosniff"));
  const auto devices = boost::json::parse(body_of(response));
  EXPECT_EQ(devices.at(0).at("name").as_string(), name);
}

TEST_F(PageTest, TellsTheSession) {
  const auto session = [](const PageProcess& page) { return boost::json::parse(body_of(page.get("/api/v1/session"))); };
  EXPECT_FALSE(session(PageProcess(socket)).at("actions").as_bool());
  const PageProcess page(socket, {"--allow-actions"});
  EXPECT_TRUE(session(page).at("actions").as_bool());
  EXPECT_EQ(session(page).at("node").as_string(), "node1");
  stop();
  EXPECT_EQ(session(page).at("node").as_string(), "");
}

TEST_F(PageTest, ReportsADaemonThatIsAway) {
  const PageProcess page(socket);
  stop();
  for (const char* path : {"/api/v1/status", "/api/v1/devices", "/api/v1/health-events"})
    EXPECT_THAT(page.get(path), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr(R"({"error":"cardcage is not running)")));
  start();
  EXPECT_THAT(page.get("/api/v1/status"), StartsWith("HTTP/1.1 200"));
}

TEST_F(PageTest, IsReadOnlyByDefault) {
  const PageProcess page(socket);
  EXPECT_THAT(page.post("/api/v1/actions/cordon", R"({"device":"gpu-1","reason":"x"})"),
              AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("cagectl web --allow-actions")));
  EXPECT_EQ(daemon.last_device_command().device, "");
}

TEST_F(PageTest, GivesCommandsWithAReason) {
  const PageProcess page(socket, {"--allow-actions"});
  EXPECT_THAT(
      page.post("/api/v1/actions/clear", R"({"device":"gpu-1","module":"mock","cause":"Ecc","reason":"replaced"})"),
      AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("\"done\": ")));
  const DeviceCommand command = daemon.last_device_command();
  EXPECT_EQ(command.verb, DeviceVerb::kClear);
  EXPECT_EQ(command.device, "gpu-1");
  EXPECT_EQ(command.module, "mock");
  EXPECT_EQ(command.cause, "Ecc");
  EXPECT_EQ(command.reason, "replaced");
  EXPECT_NE(command.by, "");
  for (const auto& [action, verb] :
       {std::pair("cordon", DeviceVerb::kCordon), std::pair("uncordon", DeviceVerb::kUncordon),
        std::pair("reset", DeviceVerb::kReset)}) {
    EXPECT_THAT(page.post(fmt::format("/api/v1/actions/{}", action), R"({"device":"gpu-0","reason":"cable"})"),
                StartsWith("HTTP/1.1 200"));
    EXPECT_EQ(daemon.last_device_command().verb, verb);
  }
  for (const auto& [action, verb] :
       {std::pair("quiesce", ModuleVerb::kQuiesce), std::pair("resume", ModuleVerb::kResume)}) {
    EXPECT_THAT(page.post(fmt::format("/api/v1/actions/{}", action), R"({"module":"mock","reason":"driver 580"})"),
                AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("module 'mock' is")));
    EXPECT_EQ(daemon.last_command().verb, verb);
    EXPECT_EQ(daemon.last_command().reason, "driver 580");
  }
}

TEST_F(PageTest, RefusesCommandsThatAreNotComplete) {
  const PageProcess page(socket, {"--allow-actions"});
  const auto cordon = [&](const std::string& body) { return page.post("/api/v1/actions/cordon", body); };
  for (const char* body : {R"({"device":"gpu-1"})", R"({"device":"gpu-1","reason":" \n"})"})
    EXPECT_THAT(cordon(body), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("the reason is missing"))) << body;
  for (const char* body : {"", "{", "[]", R"({"device":1,"reason":"x"})", R"({"reason":"x"})",
                           R"({"device":"gpu-1","reason":"x","force":true})"})
    EXPECT_THAT(cordon(body), StartsWith("HTTP/1.1 400")) << body;
  EXPECT_THAT(cordon(R"({"device":"gpu-1","reason":")" + std::string(1001, 'x') + "\"}"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(page.post("/api/v1/actions/quiesce", R"({"reason":"x"})"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(page.post("/api/v1/actions/forget", R"({"reason":"x"})"), StartsWith("HTTP/1.1 404"));
  EXPECT_EQ(daemon.last_device_command().device, "");
  on_core([&] { daemon.failure = {Code::kFailedPrecondition, "gpu-1 is held"}; });
  EXPECT_THAT(cordon(R"({"device":"gpu-1","reason":"x"})"),
              AllOf(StartsWith("HTTP/1.1 409"), HasSubstr("gpu-1 is held")));
}

TEST_F(PageTest, StreamsChanges) {
  const PageProcess page(socket);
  const auto stream = page.watch();
  on_core([&] { daemon.changes().note({Section::kDevices, Section::kHealth}); });
  EXPECT_EQ(stream->read_until("\n\n"), "event: change\ndata: {\"sections\":[\"devices\",\"health\"]}\n\n");
  // No event tells of this one.
  on_core([&] { daemon.status_report.warnings.emplace_back("the disk is full"); });
  EXPECT_EQ(stream->read_until("\n\n"), "event: change\ndata: {\"sections\":[\"status\"]}\n\n");
  on_core([&] { daemon.status_report.config.errors.emplace_back("cardcage.toml:1:1: unknown key"); });
  EXPECT_EQ(stream->read_until("\n\n"),
            "event: change\ndata: {\"sections\":[\"status\",\"health\",\"configuration\"]}\n\n");
}

TEST_F(PageTest, TellsThatTheDaemonIsGoneAndBack) {
  const PageProcess page(socket);
  const auto stream = page.watch();
  stop();
  EXPECT_EQ(stream->read_until("\n\n"), "event: gone\ndata: {}\n\n");
  const auto later = page.watch();
  EXPECT_EQ(later->read_until("\n\n"), "event: gone\ndata: {}\n\n");
  start();
  for (RawClient* each : {stream.get(), later.get()}) {
    EXPECT_EQ(each->read_until("\n\n"), "event: back\ndata: {}\n\n");
    EXPECT_THAT(each->read_until("\n\n"), HasSubstr("\"devices\""));
  }
}

TEST_F(PageTest, WatchesTheDaemonOnlyWhileAPageIsOpen) {
  PageProcess page(socket);
  auto stream = page.watch();
  const auto watched = [&] {
    bool is = false;
    on_core([&] { is = daemon.changes().watched(); });
    return is;
  };
  EXPECT_TRUE(watched());
  stream.reset();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (watched() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_FALSE(watched());
  EXPECT_EQ(page.stop(), 0);
}

TEST_F(PageTest, SurvivesTheEndOfItsStreams) {
  PageProcess page(socket);
  for (int i = 0; i < 200; ++i) {
    auto stream = page.watch();
    std::thread browser([&] { stream.reset(); });
    stop();
    browser.join();
    start();
  }
  EXPECT_THAT(page.get("/api/v1/status"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(page.stop(), 0);
}

TEST_F(PageTest, EndsWithASignalWhilePagesAreOpen) {
  PageProcess page(socket);
  const auto stream = page.watch();
  EXPECT_EQ(page.stop(), 0);
  EXPECT_EQ(stream->read_all(), "");
}

TEST_F(PageTest, EndsWhenItIsNotUsed) {
  PageProcess page(socket, {"--idle", "1"});
  EXPECT_EQ(page.wait(), 0);
}

TEST_F(PageTest, StartsWithoutADaemon) {
  stop();
  const PageProcess page(socket);
  EXPECT_THAT(page.get("/"), StartsWith("HTTP/1.1 200"));
}

TEST_F(PageTest, ListensOnThisMachineOnly) {
  for (const char* address : {"0.0.0.0:0", "192.0.2.1:80", "[::]:0", "localhost:0"}) {
    const Ended ended = run_cagectl({"--socket", socket.native(), "web", "--listen", address});
    EXPECT_EQ(ended.code, 1) << address;
    EXPECT_THAT(ended.err, AllOf(HasSubstr("--listen"), Not(HasSubstr("token"))));
  }
}

}  // namespace
}  // namespace cardcage
