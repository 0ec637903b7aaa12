// A web server with a small site, and a browser that has opened its address.
#pragma once

#include <gmock/gmock.h>

#include <array>
#include <future>

#include "tests/fakes/live_core.h"
#include "tests/fakes/raw_client.h"
#include "web/server/one_time_token.h"
#include "web/server/web_server.h"

namespace cardcage {

constexpr std::array kFiles{
    EmbeddedFile{"/", "text/html; charset=utf-8", "\"index\"", "<p>index</p>"},
    EmbeddedFile{"/page.js", "text/javascript; charset=utf-8", "\"page\"", "let page;"},
};

// Counts up, and has an event whenever the count has changed.
struct CountingSource final : EventSource {
  std::optional<WebEvent> take() override {
    if (told == *count) return std::nullopt;
    told = *count;
    return WebEvent{"count", std::to_string(told) + padding};
  }
  ~CountingSource() override { destroyed->set_value(); }

  std::shared_ptr<int> count;
  std::string padding;
  int told = 0;
  std::shared_ptr<std::promise<void>> destroyed;
};

class WebWorld : public ::testing::Test {
 protected:
  explicit WebWorld(WebLimits limits = {}, bool may_command = true)
      : access("run the program again", may_command), site_limits(limits) {
    WebSite site{.routes = routes(), .files = kFiles, .names = {"node.example", "other.example:80"}, .limits = limits};
    server = core.call([&] { return std::make_unique<WebServer>(core.context(), clock, std::move(site), access); });
    const Status listening = core.call([&] { return server->listen("127.0.0.1:0"); });
    EXPECT_TRUE(listening);
    port = core.call([&] { return server->port(); });
  }
  ~WebWorld() override {
    stop();
    core.call([&] { server.reset(); });
  }
  void stop() {
    core.run([](WebServer& its) -> Task<int> {
      co_await its.stop();
      co_return 0;
    }(*server));
  }

  // Returns the whole response to a request on a connection of its own. The lines of `headers` end with \r\n.
  std::string ask(std::string_view method, std::string_view target, std::string_view headers = "",
                  std::string_view body = "") {
    RawClient client(port);
    client.send(request(method, target, headers, body));
    return client.read_all();
  }
  // As ask(), with the cookie of the session.
  std::string visit(std::string_view method, std::string_view target, std::string_view headers = "",
                    std::string_view body = "") {
    return ask(method, target, fmt::format("Cookie: {}\r\n{}", session(), headers), body);
  }
  std::string request(std::string_view method, std::string_view target, std::string_view headers = "",
                      std::string_view body = "", bool last = true) const {
    const std::string length = body.empty() ? "" : fmt::format("Content-Length: {}\r\n", body.size());
    return fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{}{}{}\r\n{}", method, target, port,
                       last ? "Connection: close\r\n" : "", length, headers, body);
  }
  // Opens the address of the token once.
  const std::string& session() {
    if (!session_.empty()) return session_;
    const std::string response = ask("GET", "/?token=" + access.token());
    const auto begin = response.find("cardcage_session");
    if (begin != std::string::npos) session_ = response.substr(begin, response.find(';', begin) - begin);
    return session_;
  }
  std::string command_headers() const {
    return fmt::format("Origin: http://127.0.0.1:{}\r\nX-Cardcage-Request: 1\r\nContent-Type: application/json\r\n",
                       port);
  }
  void count_up() {
    core.call([this] {
      ++*count;
      if (ready) ready();
    });
  }

  LiveCore core;
  SystemClock clock;
  OneTimeToken access;
  const WebLimits site_limits;
  // [core] The state of the route /watch.
  const std::shared_ptr<int> count = std::make_shared<int>(0);
  std::function<void()> ready;
  std::string padding;
  const std::shared_ptr<std::promise<void>> source_gone = std::make_shared<std::promise<void>>();
  std::unique_ptr<WebServer> server;
  std::uint16_t port = 0;

 private:
  static Task<WebResponse> echo(WebRequest request) {
    WebResponse response = text_response(200, request.parameter("text").value_or("nothing") + request.body);
    co_return response;
  }
  static Task<WebResponse> watch(WebWorld& world) {
    WebResponse response;
    response.events = [&world](std::function<void()> ready) {
      world.ready = std::move(ready);
      auto source = std::make_unique<CountingSource>();
      source->count = world.count;
      source->padding = world.padding;
      source->destroyed = world.source_gone;
      return source;
    };
    co_return response;
  }
  std::vector<WebRoute> routes() {
    return {{"GET", "/api/v1/echo", [](WebRequest request) { return echo(std::move(request)); }},
            {"GET", "/api/v1/below/", [](WebRequest request) { return echo(std::move(request)); }},
            {"POST", "/api/v1/act", [](WebRequest request) { return echo(std::move(request)); }},
            {"GET", "/api/v1/watch", [this](const WebRequest&) { return watch(*this); }}};
  }

  std::string session_;
};

}  // namespace cardcage
