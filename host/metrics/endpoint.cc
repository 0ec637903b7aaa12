#include "host/metrics/endpoint.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "host/core/tcp_address.h"

namespace cardcage {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

namespace {

constexpr int kMaxClients = 16;
constexpr std::chrono::seconds kIdleTimeout{10};
constexpr std::uint32_t kMaxHeaderSize = 8192;
// Retry interval while the process has no free file descriptor: nothing reports when one is free.
constexpr Duration kDescriptorRetry = std::chrono::seconds(1);

using Request = http::request<http::empty_body>;
using Response = http::response<http::string_body>;

Task<Response> respond(const Request& request, const HttpEndpoint::Pages& pages) {
  Response response;
  response.version(request.version());
  response.keep_alive(request.keep_alive());
  response.set(http::field::cache_control, "no-store");
  HttpPage page;
  if (request.method() == http::verb::get || request.method() == http::verb::head) {
    const std::string target(request.target().data(), request.target().size());
    Task<HttpPage> made = pages(target.substr(0, target.find('?')));
    page = co_await std::move(made);
  } else {
    page = {.status = 405, .body = "only GET and HEAD are allowed\n"};
    response.set(http::field::allow, "GET, HEAD");
  }
  response.result(page.status);
  response.set(http::field::content_type, page.content_type);
  response.content_length(page.body.size());
  if (request.method() != http::verb::head) response.body() = std::move(page.body);
  co_return response;
}

}  // namespace

// Shared by the accept loop and the connections, which may outlive the endpoint.
struct HttpEndpoint::Gate {
  Gate(asio::io_context& io, Clock& time, Pages page_maker)
      : core(io), clock(time), acceptor(io), pages(std::move(page_maker)) {}
  asio::io_context& core;
  Clock& clock;
  tcp::acceptor acceptor;
  Pages pages;  // empty once the endpoint is destroyed
  int clients = 0;

  static Task<void> serve(std::shared_ptr<Gate> gate, beast::tcp_stream stream) {
    beast::flat_buffer buffer;
    boost::system::error_code failed;
    while (!failed && gate->pages) {
      http::request_parser<http::empty_body> parser;
      parser.header_limit(kMaxHeaderSize);
      parser.body_limit(0);
      stream.expires_after(kIdleTimeout);
      co_await http::async_read(stream, buffer, parser, asio::redirect_error(asio::use_awaitable, failed));
      if (failed || !gate->pages) break;
      const Response response = co_await respond(parser.get(), gate->pages);
      stream.expires_after(kIdleTimeout);
      co_await http::async_write(stream, response, asio::redirect_error(asio::use_awaitable, failed));
      if (!response.keep_alive()) break;
    }
    --gate->clients;
  }
};

Task<void> HttpEndpoint::accept_loop(std::shared_ptr<Gate> gate) {
  while (gate->acceptor.is_open()) {
    boost::system::error_code failed;
    tcp::socket socket = co_await gate->acceptor.async_accept(asio::redirect_error(asio::use_awaitable, failed));
    if (failed == boost::system::errc::too_many_files_open) co_await gate->clock.sleep_for(kDescriptorRetry);
    if (failed || gate->clients >= kMaxClients) continue;
    ++gate->clients;
    spawn(gate->core, Gate::serve(gate, beast::tcp_stream(std::move(socket))));
  }
}

Result<std::unique_ptr<HttpEndpoint>> HttpEndpoint::start(asio::io_context& core, Clock& clock,
                                                          const std::string& address, Pages pages) {
  const auto endpoint = parse_tcp_address(address);
  if (!endpoint) return std::unexpected(endpoint.error());
  const auto gate = std::make_shared<Gate>(core, clock, std::move(pages));
  boost::system::error_code failed;
  gate->acceptor.open(endpoint->protocol(), failed);
  if (!failed) gate->acceptor.set_option(tcp::acceptor::reuse_address(true), failed);
  if (!failed) gate->acceptor.bind(*endpoint, failed);
  if (!failed) gate->acceptor.listen(kMaxClients, failed);
  if (failed)
    return fail(Code::kUnavailable, "cannot listen on '{}': {}; choose another [metrics] listen", address,
                failed.message());
  spawn(core, accept_loop(gate));
  return std::unique_ptr<HttpEndpoint>(new HttpEndpoint(gate));
}

HttpEndpoint::HttpEndpoint(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}

HttpEndpoint::~HttpEndpoint() {
  boost::system::error_code ignored;
  gate_->acceptor.close(ignored);
  gate_->pages = nullptr;
}

std::uint16_t HttpEndpoint::port() const {
  boost::system::error_code ignored;
  return gate_->acceptor.local_endpoint(ignored).port();
}

}  // namespace cardcage
