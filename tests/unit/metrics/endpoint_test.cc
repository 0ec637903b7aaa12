#include "host/metrics/endpoint.h"

#include <gmock/gmock.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "host/core/clock.h"
#include "tests/fakes/core_fixture.h"

namespace cardcage {
namespace {

using asio::ip::tcp;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class HttpEndpointTest : public CoreFixture {
 protected:
  HttpEndpointTest() {
    auto started =
        HttpEndpoint::start(core, clock, "127.0.0.1:0", [](std::string path) { return page(std::move(path)); });
    endpoint = std::move(started.value());
  }
  static Task<HttpPage> page(std::string path) {
    HttpPage made{.body = "up 1\n"};
    if (path != "/metrics") made = {.status = 404, .body = "no such page\n"};
    co_return made;
  }
  // Returns everything that the endpoint sends until it closes the connection.
  std::string send(const std::string& text) {
    return run([](asio::io_context& io, std::uint16_t port, std::string request) -> Task<std::string> {
      tcp::socket socket(io);
      const tcp::endpoint server(asio::ip::address_v4::loopback(), port);
      co_await socket.async_connect(server, asio::use_awaitable);
      co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
      std::string received;
      boost::system::error_code ended;
      co_await asio::async_read(socket, asio::dynamic_buffer(received),
                                asio::redirect_error(asio::use_awaitable, ended));
      co_return received;
    }(core, endpoint->port(), text));
  }

  SystemClock clock;
  std::unique_ptr<HttpEndpoint> endpoint;
};

TEST_F(HttpEndpointTest, ServesItsPages) {
  const std::string page = send("GET /metrics?name[]=up HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(page, HasSubstr("\r\n\r\nup 1\n"));
  EXPECT_THAT(send("GET /etc HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 404 Not Found\r\n"));
}

TEST_F(HttpEndpointTest, OneConnectionServesManyRequests) {
  const std::string responses =
      send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\nHEAD /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(responses, HasSubstr("up 1\nHTTP/1.1 200 OK"));
}

TEST_F(HttpEndpointTest, BadInputEndsOnlyItsConnection) {
  EXPECT_EQ(send("nonsense\r\n\r\n"), "");
  EXPECT_EQ(send("GET /metrics HTTP/1.1\r\nA: " + std::string(100'000, 'x') + "\r\n\r\n"), "");
  EXPECT_EQ(send("GET /metrics HTTP/1.1\r\nContent-Length: 5\r\nConnection: close\r\n\r\nabcde"), "");
  EXPECT_THAT(send("POST /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(send("GET /metrics HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.0 200"));
}

TEST_F(HttpEndpointTest, ReportsAnAddressThatIsTakenOrInvalid) {
  const auto pages = [](std::string path) { return page(std::move(path)); };
  const auto taken = HttpEndpoint::start(core, clock, fmt::format("127.0.0.1:{}", endpoint->port()), pages);
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr("choose another [metrics] listen"));
  EXPECT_THAT(HttpEndpoint::start(core, clock, "localhost:80", pages).error().message, HasSubstr("is not an address"));
}

}  // namespace
}  // namespace cardcage
