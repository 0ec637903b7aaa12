// HTTP/2 over TLS to one API server, with libcurl on the core's event loop.
//
// All requests share one connection. With a server that speaks only HTTP/1.1, each request uses a connection of its own
// from a small pool. The peer is always verified; nothing can turn that off. A connection to a silent peer is closed
// within 30 s: TCP keepalive and TCP_USER_TIMEOUT detect a dead host. A request that times out closes the connections
// that have been silent for kSilenceLimit while requests waited, and no others: a request whose time was short says
// nothing about the connection, and the watch on it would be lost.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "host/core/task.h"

namespace cardcage {

class CurlMulti;

// An overloaded API server takes seconds for a response, and its connection must survive that: a new one costs it a
// handshake, and the watch that starts again costs more. A connection whose peer is gone keeps pods waiting meanwhile.
constexpr Duration kSilenceLimit = std::chrono::seconds(10);

// The server and the identity that we present to it. Certificates are PEM text.
struct HttpPeer {
  std::string url;     // "https://10.0.0.1:443", no trailing slash
  std::string ca_pem;  // empty = trust the system's authorities
  std::string client_certificate_pem, client_key_pem;
  std::string bearer_token;
  friend bool operator==(const HttpPeer&, const HttpPeer&) = default;
};

struct HttpRequest {
  std::string method = "GET";
  std::string path;  // with query, percent-encoded; appended to the peer's URL
  std::string body;  // empty = none
  std::string content_type = "application/json";
  std::string accept = "application/json";
  std::size_t max_body = std::size_t{16} << 20;  // in bytes; for a stream, the bytes not handed out yet
  Duration max_pause = Duration::max();          // a stream that pauses for longer ends with kDataLoss
};

struct HttpResponse {
  long status = 0;
  std::string body;
  std::optional<std::chrono::seconds> retry_after;
};

// [core] A response with any HTTP status is a success. Errors come from the transport: kUnavailable (no connection, or
// it broke), kDeadlineExceeded, kDataLoss (a stream paused for too long), kCancelled (the surrounding coroutine was
// cancelled), kUnauthenticated (TLS: one side does not trust the other), kInternal (the response is larger than
// allowed).
class HttpClient {
 public:
  explicit HttpClient(asio::io_context& core, Duration silence_limit = kSilenceLimit);
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();  // running requests continue

  Task<Result<HttpResponse>> request(std::shared_ptr<const HttpPeer> peer, HttpRequest request, Duration timeout);

  // Calls `on_begin` once a 2xx response begins, which may be long before its first line. Hands every line of it to
  // `on_line`, until the stream ends, `timeout` passes or `on_line` fails, whose error is then the result. Both are
  // called outside libcurl's callbacks. The body of any other response is collected in `body`.
  Task<Result<HttpResponse>> stream(std::shared_ptr<const HttpPeer> peer, HttpRequest request, Duration timeout,
                                    std::function<void()> on_begin,
                                    std::function<Status(std::string_view line)> on_line);

 private:
  std::shared_ptr<CurlMulti> multi_;
};

}  // namespace cardcage
