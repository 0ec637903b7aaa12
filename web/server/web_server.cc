#include "web/server/web_server.h"

#include <set>

#include "host/core/task_group.h"
#include "host/core/tcp_address.h"
#include "web/server/connection.h"
#include "web/server/guard.h"
#include "web/server/router.h"

namespace cardcage {

using asio::ip::tcp;

namespace {

// Retry interval while the process has no free file descriptor: no event says when one becomes free.
constexpr Duration kDescriptorRetry = std::chrono::seconds(1);
constexpr std::string_view kFull =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 10\r\nContent-Length: 0\r\n\r\n";

WebResponse read_only_response(const Visitor& visitor) {
  return error_response(
      403, fmt::format("this page is read-only{}{}", visitor.why_not.empty() ? "" : ": ", visitor.why_not));
}

// Best effort: a peer that sends at the same time may see only the end of the connection.
void turn_away(tcp::socket socket) {
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(kFull), ignored);
  socket.shutdown(tcp::socket::shutdown_both, ignored);
}

}  // namespace

struct WebServer::State final : RequestHandling {
  State(asio::io_context& io, Clock& time, WebSite served, Access& who_may)
      : core(io), clock(time), site(std::move(served)), access(who_may), router(site), acceptor(io), tasks(io) {}

  asio::io_context& core;
  Clock& clock;
  const WebSite site;
  Access& access;
  const Router router;
  std::optional<Guard> guard;
  tcp::acceptor acceptor;
  std::set<std::shared_ptr<WebConnection>> connections;
  int requests = 0;
  Instant last_end = clock.now();
  TaskGroup tasks;

  Task<std::expected<WebRoute::Handler, WebResponse>> admit(WebRequest& request) override {
    if (auto refusal = guard->refuse(request)) co_return std::unexpected(std::move(*refusal));
    Task<std::expected<Visitor, WebResponse>> asked = access.admit(request);
    auto visitor = co_await std::move(asked);
    if (!visitor) co_return std::unexpected(std::move(visitor.error()));
    request.visitor = std::move(*visitor);
    auto handler = router.find(request);
    if (handler && request.method != "GET" && !request.visitor.may_command)
      co_return std::unexpected(read_only_response(request.visitor));
    co_return handler;
  }
  void begin_request() override { ++requests; }
  void end_request() override {
    --requests;
    last_end = clock.now();
  }

  Task<void> accept_all() {
    while (acceptor.is_open()) {
      boost::system::error_code failed;
      tcp::socket socket = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, failed));
      if (failed == boost::system::errc::too_many_files_open) co_await clock.sleep_for(kDescriptorRetry);
      if (failed) continue;
      if (static_cast<int>(connections.size()) >= site.limits.connections) {
        if (!site.tls) turn_away(std::move(socket));
        continue;
      }
      const ConnectionContext context{core, clock, site.limits, *this};
      const auto connection = site.tls ? tls_connection(context, std::move(socket), *site.tls->current())
                                       : plain_connection(context, std::move(socket));
      connections.insert(connection);
      tasks.spawn(serve(connection));
    }
  }
  Task<void> serve(std::shared_ptr<WebConnection> connection) {
    co_await connection->run();
    connections.erase(connection);
  }
};

WebServer::WebServer(asio::io_context& core, Clock& clock, WebSite site, Access& access)
    : state_(std::make_unique<State>(core, clock, std::move(site), access)) {}

WebServer::~WebServer() = default;

Status WebServer::listen(const std::string& address) {
  const auto endpoint = parse_tcp_address(address);
  if (!endpoint) return std::unexpected(endpoint.error());
  tcp::acceptor& acceptor = state_->acceptor;
  boost::system::error_code failed;
  acceptor.open(endpoint->protocol(), failed);
  if (!failed) acceptor.set_option(tcp::acceptor::reuse_address(true), failed);
  if (!failed) acceptor.bind(*endpoint, failed);
  if (!failed) acceptor.listen(state_->site.limits.connections, failed);
  if (failed)
    return fail(Code::kUnavailable, "cannot listen on '{}': {}; choose another address", address, failed.message());
  state_->guard.emplace(state_->site.names, port());
  state_->tasks.spawn(state_->accept_all());
  return {};
}

std::uint16_t WebServer::port() const {
  boost::system::error_code ignored;
  return state_->acceptor.local_endpoint(ignored).port();
}

Instant WebServer::last_used() const { return state_->requests > 0 ? state_->clock.now() : state_->last_end; }

Task<void> WebServer::stop() {
  boost::system::error_code ignored;
  state_->acceptor.close(ignored);
  for (const auto& connection : state_->connections) connection->close();
  co_await state_->tasks.join(state_->clock, Instant::max());
}

}  // namespace cardcage
