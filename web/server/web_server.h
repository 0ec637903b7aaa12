// An HTTP/1.1 server of embedded files and JSON, for people with browsers.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/core/clock.h"
#include "web/server/access.h"
#include "web/server/embedded_file.h"
#include "web/server/tls_files.h"

namespace cardcage {

// Handles the requests of one path. Every GET route also serves HEAD, without the body.
struct WebRoute {
  // The task may outlive the function, so the function is not a coroutine itself.
  using Handler = std::function<Task<WebResponse>(WebRequest)>;
  std::string method;  // "GET", "POST", ...
  std::string path;    // one that ends with '/' stands for all paths below it
  Handler handler;
};

struct WebLimits {
  std::size_t header_bytes = 8192;
  std::size_t body_bytes = 16384;
  int connections = 64;
  Duration request = std::chrono::seconds(10);   // to send a request, from its first byte
  Duration idle = std::chrono::seconds(60);      // between requests
  Duration response = std::chrono::seconds(30);  // to read a response or an event
  Duration ping = std::chrono::seconds(15);      // between comments in a stream without events
  Duration stream = std::chrono::hours(24);      // longest stream of events; browsers begin another
};

struct WebSite {
  std::vector<WebRoute> routes;
  std::span<const EmbeddedFile> files;
  // Names that the Host of a request may have beside 127.0.0.1, localhost and [::1] with the port of the server. A
  // name without a port is accepted with any port.
  std::vector<std::string> names;  // "*" = any
  WebLimits limits;
  std::shared_ptr<TlsFiles> tls;  // null = plain HTTP
};

// [core] Every response has a strict content security policy. A request is refused if its Host is not a name of the
// site. One that is not GET or HEAD is also refused if its Origin is not that Host, its type is not JSON, or it lacks
// the header X-Cardcage-Request: 1, which no form of another site can send.
class WebServer {
 public:
  // The clock and `access` outlive the server.
  WebServer(asio::io_context& core, Clock& clock, WebSite site, Access& access);
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  // `address` as for parse_tcp_address; port 0 = any.
  Status listen(const std::string& address);
  std::uint16_t port() const;
  // Returns when the last request ended; now while one, or a stream of events, is open.
  Instant last_used() const;
  // Closes all connections and waits for the handlers. Await it before the destructor if the server has listened.
  Task<void> stop();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace cardcage
