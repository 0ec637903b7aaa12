// A small HTTPS server (HTTP/1.1) on its own thread, for fakes that control every byte of a response.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "host/core/task.h"
#include "tests/fakes/test_certificates.h"

namespace cardcage {

struct HttpsRequest {
  std::string method, target, body;
  std::string authorization;   // header; empty = none
  std::string client_subject;  // CN of the client certificate; empty = none
  std::string content_type, accept;
};

// A request and its connection. [server thread]
class HttpsExchange {
 public:
  using Stream = asio::ssl::stream<asio::ip::tcp::socket>;
  explicit HttpsExchange(Stream& stream) : stream_(stream) {}

  HttpsRequest request;

  Task<void> respond(unsigned status, std::string body, std::string extra_headers = {});
  // A chunked response: begin(), text() any number of times, end().
  Task<void> begin();
  Task<void> text(std::string text);
  Task<void> end();
  // Returns when the peer closes the connection.
  Task<void> closed();
  // Closes the connection with a TCP reset.
  void reset();

 private:
  Task<void> write(std::string text);
  Stream& stream_;
};

class HttpsServer {
 public:
  using Handler = std::function<Task<void>(std::shared_ptr<HttpsExchange>)>;

  HttpsServer(TestCertificates certificates, Handler handler);
  HttpsServer(const HttpsServer&) = delete;
  HttpsServer& operator=(const HttpsServer&) = delete;
  ~HttpsServer();

  std::string url() const;
  const TestCertificates& certificates() const { return certificates_; }
  // Refuses new connections and resets the open ones; the port stays reserved.
  void go_down();
  void come_up();
  std::size_t connections();

  // Runs f() on the server's thread and returns its result. Handlers run there too.
  template <class F>
  auto run(F f) {
    std::packaged_task<decltype(f())()> task(std::move(f));
    auto result = task.get_future();
    asio::post(context_, [&task] { task(); });
    return result.get();
  }
  asio::io_context& context() { return context_; }

 private:
  struct Connection;

  void listen();
  static Task<void> accept_all(HttpsServer& server, std::shared_ptr<asio::ip::tcp::acceptor> acceptor);
  static Task<void> serve(HttpsServer& server, std::shared_ptr<Connection> connection);
  void reset_all();

  TestCertificates certificates_;
  Handler handler_;
  asio::io_context context_;
  asio::ssl::context tls_{asio::ssl::context::tls_server};
  asio::ip::tcp::socket reservation_{context_};  // bound, never listening: keeps the port while the server is down
  std::shared_ptr<asio::ip::tcp::acceptor> acceptor_;
  std::list<std::weak_ptr<Connection>> connections_;
  unsigned short port_ = 0;
  std::thread thread_;
};

}  // namespace cardcage
