#include "tests/fakes/https_server.h"

#include <openssl/x509.h>
#include <sys/socket.h>

#include <array>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace cardcage {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

std::string subject_of(SSL* ssl) {
  X509* const certificate = SSL_get1_peer_certificate(ssl);
  if (certificate == nullptr) return {};
  std::array<char, 256> name{};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name.data(), name.size());
  X509_free(certificate);
  return name.data();
}

void reset_socket(tcp::socket& socket) {
  boost::system::error_code ignored;
  socket.set_option(tcp::socket::linger(true, 0), ignored);
  socket.close(ignored);
}

}  // namespace

struct HttpsServer::Connection {
  Connection(tcp::socket socket, asio::ssl::context& tls) : stream(std::move(socket), tls) {}
  HttpsExchange::Stream stream;
};

Task<void> HttpsExchange::write(std::string text) {
  co_await asio::async_write(stream_, asio::buffer(text), asio::use_awaitable);
}

Task<void> HttpsExchange::respond(unsigned status, std::string body, std::string extra_headers) {
  std::string text = fmt::format("HTTP/1.1 {} Status\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{}\r\n",
                                 status, body.size(), extra_headers);
  text += body;
  co_await write(std::move(text));
}

Task<void> HttpsExchange::begin() {
  std::string text = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  co_await write(std::move(text));
}

Task<void> HttpsExchange::text(std::string text) {
  std::string chunk = fmt::format("{:x}\r\n{}\r\n", text.size(), text);
  co_await write(std::move(chunk));
}

Task<void> HttpsExchange::end() {
  std::string last = "0\r\n\r\n";
  co_await write(std::move(last));
}

Task<void> HttpsExchange::closed() {
  std::array<char, 16> unexpected{};
  boost::system::error_code ignored;
  co_await stream_.async_read_some(asio::buffer(unexpected), asio::redirect_error(asio::use_awaitable, ignored));
}

void HttpsExchange::reset() { reset_socket(stream_.next_layer()); }

HttpsServer::HttpsServer(TestCertificates certificates, Handler handler)
    : certificates_(std::move(certificates)), handler_(std::move(handler)) {
  tls_.use_certificate(asio::buffer(certificates_.server), asio::ssl::context::pem);
  tls_.use_private_key(asio::buffer(certificates_.server_key), asio::ssl::context::pem);
  tls_.add_certificate_authority(asio::buffer(certificates_.ca));
  tls_.set_verify_mode(asio::ssl::verify_peer);  // checks the client certificate if there is one
  SSL_CTX_set_session_id_context(tls_.native_handle(), reinterpret_cast<const unsigned char*>("test"), 4);
  reservation_.open(tcp::v4());
  const int on = 1;
  ::setsockopt(reservation_.native_handle(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  reservation_.bind(tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  port_ = reservation_.local_endpoint().port();
  listen();
  thread_ = std::thread([this] {
    const auto work = asio::make_work_guard(context_);
    context_.run();
  });
}

HttpsServer::~HttpsServer() {
  context_.stop();
  thread_.join();
}

std::string HttpsServer::url() const { return fmt::format("https://127.0.0.1:{}", port_); }

void HttpsServer::listen() {
  acceptor_ = std::make_shared<tcp::acceptor>(context_, tcp::v4());
  const int on = 1;
  ::setsockopt(acceptor_->native_handle(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  acceptor_->bind(tcp::endpoint(asio::ip::address_v4::loopback(), port_));
  acceptor_->listen();
  asio::co_spawn(context_, accept_all(*this, acceptor_), asio::detached);
}

void HttpsServer::go_down() {
  run([this] {
    acceptor_->close();
    reset_all();
  });
}

void HttpsServer::come_up() {
  run([this] { listen(); });
}

void HttpsServer::reset_all() {
  for (const auto& weak : connections_) {
    if (const auto connection = weak.lock()) reset_socket(connection->stream.next_layer());
  }
}

std::size_t HttpsServer::connections() {
  return run([this] {
    std::erase_if(connections_, [](const auto& weak) { return weak.expired(); });
    return connections_.size();
  });
}

Task<void> HttpsServer::accept_all(HttpsServer& server, std::shared_ptr<tcp::acceptor> acceptor) {
  for (;;) {
    boost::system::error_code failure;
    tcp::socket socket = co_await acceptor->async_accept(asio::redirect_error(asio::use_awaitable, failure));
    if (!acceptor->is_open()) co_return;
    if (failure) continue;
    socket.set_option(tcp::no_delay(true), failure);
    auto connection = std::make_shared<Connection>(std::move(socket), server.tls_);
    server.connections_.push_back(connection);
    asio::co_spawn(server.context_, serve(server, std::move(connection)), asio::detached);
  }
}

// A broken connection ends this coroutine with an exception that is not handled anywhere.
Task<void> HttpsServer::serve(HttpsServer& server, std::shared_ptr<Connection> connection) {
  co_await connection->stream.async_handshake(asio::ssl::stream_base::server, asio::use_awaitable);
  const std::string subject = subject_of(connection->stream.native_handle());
  beast::flat_buffer buffer;
  for (;;) {
    http::request_parser<http::string_body> parser;
    parser.body_limit(std::uint64_t{64} << 20);
    co_await http::async_read(connection->stream, buffer, parser, asio::use_awaitable);
    auto exchange = std::make_shared<HttpsExchange>(connection->stream);
    const auto& message = parser.get();
    exchange->request = {std::string(message.method_string()),
                         std::string(message.target()),
                         message.body(),
                         std::string(message[http::field::authorization]),
                         subject,
                         std::string(message[http::field::content_type]),
                         std::string(message[http::field::accept])};
    co_await server.handler_(exchange);
  }
}

}  // namespace cardcage
