// HTTP/2 over TLS to one API server, by libcurl, driven by the core.
//
// Every request shares one connection (multiplexed); against a server that speaks only HTTP/1.1 each runs on a
// connection of its own out of a small pool. The peer is always verified: there is no switch to turn that off.
// A connection whose peer went silent is given up within 30 s: TCP keepalive and TCP_USER_TIMEOUT find a dead host,
// and a request that runs into its timeout without a byte on its connection closes that connection.
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

// Whom to talk to and as whom. All certificates are PEM text.
struct HttpPeer {
  std::string url;     // "https://10.0.0.1:443", no trailing slash
  std::string ca_pem;  // empty = the system's authorities
  std::string client_certificate_pem, client_key_pem;
  std::string bearer_token;
  friend bool operator==(const HttpPeer&, const HttpPeer&) = default;
};

struct HttpRequest {
  std::string method = "GET";
  std::string path;  // with query, percent-encoded; appended to the peer's URL
  std::string body;  // JSON; empty = none
  std::string accept = "application/json";
  std::size_t max_body = std::size_t{16} << 20;  // bytes; of a stream: what it has not handed out yet
};

struct HttpResponse {
  long status = 0;
  std::string body;
  std::optional<std::chrono::seconds> retry_after;
};

// [core] Errors are those of the transport, any HTTP status is a response: kUnavailable (no connection, or it
// broke), kDeadlineExceeded, kCancelled (the surrounding coroutine was), kUnauthenticated (TLS: one side does not
// trust the other), kInternal (the answer is larger than allowed).
class HttpClient {
 public:
  explicit HttpClient(asio::io_context& core);
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();  // requests that still run end as usual

  Task<Result<HttpResponse>> request(std::shared_ptr<const HttpPeer> peer, HttpRequest request, Duration timeout);

  // Hands every line of a 2xx answer to `on_line`, outside of libcurl's callbacks, until the stream ends, `timeout`
  // passes or `on_line` fails; its error is then the result. The answer to any other status is collected in `body`.
  Task<Result<HttpResponse>> stream(std::shared_ptr<const HttpPeer> peer, HttpRequest request, Duration timeout,
                                    std::function<Status(std::string_view line)> on_line);

 private:
  std::shared_ptr<CurlMulti> multi_;
};

}  // namespace cardcage
