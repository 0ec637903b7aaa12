// One connection of a browser: reads requests one after another, and writes the responses.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <expected>
#include <memory>

#include "web/server/web_server.h"

namespace cardcage {

// [core] The server, as a connection sees it. Outlives its connections.
class RequestHandling {
 public:
  virtual ~RequestHandling() = default;
  // Checks a request whose body has not been read. Returns its handler, or the response that refuses it.
  virtual Task<std::expected<WebRoute::Handler, WebResponse>> admit(WebRequest& request) = 0;
  // Admitted requests in progress.
  virtual void begin_request() = 0;
  virtual void end_request() = 0;
};

// [core]
class WebConnection {
 public:
  virtual ~WebConnection() = default;
  // Serves the peer until the connection ends.
  virtual Task<void> run() = 0;
  // Ends run() soon.
  virtual void close() = 0;
};

struct ConnectionContext {
  asio::io_context& core;
  Clock& clock;
  const WebLimits& limits;
  RequestHandling& handling;
};

std::shared_ptr<WebConnection> plain_connection(const ConnectionContext& context, asio::ip::tcp::socket socket);
std::shared_ptr<WebConnection> tls_connection(const ConnectionContext& context, asio::ip::tcp::socket socket,
                                              asio::ssl::context& tls);

}  // namespace cardcage
