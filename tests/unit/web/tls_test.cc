// The server speaks TLS with certificates from files, which are renewed while it runs.
#include <gmock/gmock.h>

#include <boost/asio/read.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>

#include "host/core/file.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/live_core.h"
#include "tests/fakes/raw_client.h"
#include "tests/fakes/test_certificates.h"
#include "web/server/tls_files.h"
#include "web/server/web_server.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
namespace ssl = asio::ssl;

// Each wait for the server ends after 60 s.
class TlsClient {
 public:
  TlsClient(std::uint16_t port, const std::string& ca, int newest = TLS1_3_VERSION) {
    boost::system::error_code ignored;
    trust_.add_certificate_authority(asio::buffer(ca), ignored);
    trust_.set_verify_mode(ssl::verify_peer);
    SSL_CTX_set_max_proto_version(trust_.native_handle(), newest);
    SSL_CTX_set_min_proto_version(trust_.native_handle(), 0);
    // OpenSSL 3 refuses old versions by itself at higher levels.
    if (newest < TLS1_2_VERSION) SSL_CTX_set_cipher_list(trust_.native_handle(), "DEFAULT:@SECLEVEL=0");
    stream_.emplace(context_, trust_);
    stream_->next_layer().connect({asio::ip::address_v4::loopback(), port}, ignored);
    stream_->async_handshake(ssl::stream_base::client, [this](const auto& failed) { failed_ = failed; });
    wait();
  }
  const boost::system::error_code& failed() const { return failed_; }
  // Sends the request and returns everything until the server closes the connection.
  std::string ask(const std::string& request) {
    std::string response;
    asio::async_write(*stream_, asio::buffer(request), [&](const auto& failed, std::size_t) {
      failed_ = failed;
      if (!failed) asio::async_read(*stream_, asio::dynamic_buffer(response), [](const auto&, std::size_t) {});
    });
    wait();
    return response;
  }

 private:
  void wait() {
    context_.restart();
    context_.run_for(60s);
  }

  asio::io_context context_;
  ssl::context trust_{ssl::context::tls_client};
  std::optional<ssl::stream<tcp::socket>> stream_;
  boost::system::error_code failed_;
};

struct AdmitAll final : Access {
  Task<std::expected<Visitor, WebResponse>> admit(WebRequest) override { co_return Visitor{}; }
};

class TlsTest : public ::testing::Test {
 protected:
  void SetUp() override { start({}); }
  void TearDown() override { stop(); }

  void start(WebLimits limits) {
    stop();
    write(first);
    auto opened = TlsFiles::open(clock, folder / "tls.crt", folder / "tls.key");
    ASSERT_TRUE(opened) << opened.error().message;
    files = std::move(*opened);
    WebSite site{.routes = {{"GET", "/api/v1/long", [](const WebRequest&) { return long_text(); }}}, .limits = limits};
    site.tls = files;
    server = core.call([&] { return std::make_unique<WebServer>(core.context(), real, std::move(site), access); });
    ASSERT_TRUE(core.call([&] { return server->listen("127.0.0.1:0"); }));
    port = core.call([&] { return server->port(); });
  }
  void stop() {
    if (!server) return;
    core.run([](WebServer& its) -> Task<int> {
      co_await its.stop();
      co_return 0;
    }(*server));
    core.call([&] { server.reset(); });
  }
  static Task<WebResponse> long_text() { co_return text_response(200, std::string(1'000'000, 'x') + "end"); }
  void write(const TestCertificates& certificates) {
    ASSERT_TRUE(write_file_atomically(folder / "tls.crt", certificates.server, 0600, false));
    ASSERT_TRUE(write_file_atomically(folder / "tls.key", certificates.server_key, 0600, false));
  }
  std::string get(const std::string& path, const std::string& ca, const std::string& header = "") {
    TlsClient client(port, ca);
    if (client.failed()) return client.failed().message();
    return client.ask(
        fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n{}\r\n", path, port, header));
  }
  void pass(Duration time) {
    core.call([&] { clock.advance(time); });
  }

  const TestCertificates first = TestCertificates::make("first authority"),
                         second = TestCertificates::make("second authority");
  ScratchFolder folder;
  LiveCore core;
  SystemClock real;
  FakeClock clock;
  AdmitAll access;
  std::shared_ptr<TlsFiles> files;
  std::unique_ptr<WebServer> server;
  std::uint16_t port = 0;
};

TEST_F(TlsTest, ServesOverTls) {
  EXPECT_THAT(get("/api/v1/long", first.ca), AllOf(StartsWith("HTTP/1.1 200"), ::testing::EndsWith("xxxend")));
  EXPECT_THAT(get("/api/v1/long", second.ca), HasSubstr("certificate verify failed"));
}

TEST_F(TlsTest, ARenewedCertificateIsUsedWithinFiveSeconds) {
  write(second);
  EXPECT_THAT(get("/api/v1/long", first.ca), StartsWith("HTTP/1.1 200"));
  pass(5s);
  EXPECT_THAT(get("/api/v1/long", second.ca), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(get("/api/v1/long", first.ca), HasSubstr("certificate verify failed"));
}

TEST_F(TlsTest, TheLastGoodCertificateIsKept) {
  ASSERT_TRUE(write_file_atomically(folder / "tls.crt", second.server, 0600, false));  // the key follows later
  pass(5s);
  EXPECT_THAT(get("/api/v1/long", first.ca), StartsWith("HTTP/1.1 200"));
  std::filesystem::remove(folder / "tls.key");
  pass(5s);
  EXPECT_THAT(get("/api/v1/long", first.ca), StartsWith("HTTP/1.1 200"));
  write(second);
  pass(5s);
  EXPECT_THAT(get("/api/v1/long", second.ca), StartsWith("HTTP/1.1 200"));
}

TEST_F(TlsTest, OldVersionsAreRefused) {
  EXPECT_TRUE(TlsClient(port, first.ca, TLS1_1_VERSION).failed());
  EXPECT_FALSE(TlsClient(port, first.ca, TLS1_2_VERSION).failed());
}

TEST_F(TlsTest, AGiantTokenIsRefusedBeforeItIsReviewed) {
  const std::string token = "X-Cardcage-Token: " + std::string(20'000, 'x') + "\r\n";
  EXPECT_THAT(get("/api/v1/long", first.ca, token), StartsWith("HTTP/1.1 431"));
}

TEST_F(TlsTest, PlainHttpGetsNothing) {
  RawClient client(port);
  client.send("GET /api/v1/long HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  EXPECT_THAT(client.read_all(), Not(HasSubstr("HTTP/1.1")));
  EXPECT_THAT(get("/api/v1/long", first.ca), StartsWith("HTTP/1.1 200"));
}

TEST_F(TlsTest, APeerThatDoesNotShakeHandsIsDisconnected) {
  start({.connections = 2, .request = 50ms});
  RawClient silent(port), half(port);
  half.send("\x16\x03\x01");
  EXPECT_EQ(silent.read_all(), "");
  EXPECT_EQ(half.read_all(), "");
}

TEST_F(TlsTest, UnusableFilesAreNamed) {
  const auto refusal = [&](const std::string& certificate, const std::string& key) {
    const auto opened = TlsFiles::open(clock, folder / certificate, folder / key);
    return opened ? "opened" : opened.error().message;
  };
  EXPECT_THAT(refusal("tls.crt", "missing"), HasSubstr((folder / "missing").native()));
  EXPECT_THAT(refusal("tls.key", "tls.key"), HasSubstr("has no certificate in PEM"));
  EXPECT_THAT(refusal("tls.crt", "tls.crt"), HasSubstr("is not the key of"));
  ASSERT_TRUE(write_file_atomically(folder / "other.key", second.server_key, 0600, false));
  EXPECT_THAT(refusal("tls.crt", "other.key"), HasSubstr("is not the key of"));
}

}  // namespace
}  // namespace cardcage
