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

constexpr int kMostClients = 16;
constexpr std::chrono::seconds kPatience{10};
constexpr std::uint32_t kLongestHeader = 8192;

using Request = http::request<http::empty_body>;
using Response = http::response<http::string_body>;

Response answer(const Request& request, const HttpEndpoint::Pages& pages) {
  Response response;
  response.version(request.version());
  response.keep_alive(request.keep_alive());
  response.set(http::field::cache_control, "no-store");
  HttpPage page;
  if (request.method() == http::verb::get || request.method() == http::verb::head) {
    const std::string target(request.target().data(), request.target().size());
    page = pages(target.substr(0, target.find('?')));
  } else {
    page = {.status = 405, .body = "only GET is answered here\n"};
    response.set(http::field::allow, "GET, HEAD");
  }
  response.result(page.status);
  response.set(http::field::content_type, page.content_type);
  response.content_length(page.body.size());
  if (request.method() != http::verb::head) response.body() = std::move(page.body);
  return response;
}

// Until somebody lets go of a descriptor.
Task<void> pause(asio::io_context& core) {
  asio::steady_timer timer(core, std::chrono::seconds(1));
  boost::system::error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

}  // namespace

struct HttpEndpoint::Gate {
  Gate(asio::io_context& io, Pages page_maker) : core(io), acceptor(io), pages(std::move(page_maker)) {}
  asio::io_context& core;
  tcp::acceptor acceptor;
  Pages pages;  // empty once the endpoint is gone
  int clients = 0;

  static Task<void> serve(std::shared_ptr<Gate> gate, beast::tcp_stream stream) {
    beast::flat_buffer buffer;
    boost::system::error_code failed;
    while (!failed && gate->pages) {
      http::request_parser<http::empty_body> parser;
      parser.header_limit(kLongestHeader);
      parser.body_limit(0);
      stream.expires_after(kPatience);
      co_await http::async_read(stream, buffer, parser, asio::redirect_error(asio::use_awaitable, failed));
      if (failed || !gate->pages) break;
      const Response response = answer(parser.get(), gate->pages);
      stream.expires_after(kPatience);
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
    if (failed == boost::system::errc::too_many_files_open) co_await pause(gate->core);
    if (failed || gate->clients >= kMostClients) continue;
    ++gate->clients;
    spawn(gate->core, Gate::serve(gate, beast::tcp_stream(std::move(socket))));
  }
}

Result<std::unique_ptr<HttpEndpoint>> HttpEndpoint::start(asio::io_context& core, const std::string& address,
                                                          Pages pages) {
  const auto endpoint = parse_tcp_address(address);
  if (!endpoint) return std::unexpected(endpoint.error());
  const auto gate = std::make_shared<Gate>(core, std::move(pages));
  boost::system::error_code failed;
  gate->acceptor.open(endpoint->protocol(), failed);
  if (!failed) gate->acceptor.set_option(tcp::acceptor::reuse_address(true), failed);
  if (!failed) gate->acceptor.bind(*endpoint, failed);
  if (!failed) gate->acceptor.listen(kMostClients, failed);
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
