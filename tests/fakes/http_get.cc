#include "tests/fakes/http_get.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <limits>

namespace cardcage {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

std::uint16_t free_port() {
  asio::io_context io;
  return tcp::acceptor(io, {asio::ip::address_v4::loopback(), 0}).local_endpoint().port();
}

std::string http_get(std::uint16_t port, const std::string& path) {
  asio::io_context io;
  tcp::socket socket(io);
  boost::system::error_code failed;
  socket.connect({asio::ip::address_v4::loopback(), port}, failed);
  if (failed) return "";
  http::request<http::empty_body> request(http::verb::get, path, 11);
  request.set(http::field::host, "localhost");
  http::write(socket, request, failed);
  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> response;
  response.body_limit(std::numeric_limits<std::uint64_t>::max());
  if (!failed) http::read(socket, buffer, response, failed);
  return failed || response.get().result() != http::status::ok ? "" : response.get().body();
}

}  // namespace cardcage
