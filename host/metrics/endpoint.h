// The daemon's one TCP socket: GET /metrics, /healthz and /readyz over HTTP/1.1.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "host/core/task.h"

namespace cardcage {

struct HttpPage {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// [core] Answers anybody who can reach the address, so the pages hold no secrets. Slow or idle clients are cut off
// after some seconds, and there are never more than a few.
class HttpEndpoint {
 public:
  // The page of a path; status 404 if there is none.
  using Pages = std::function<HttpPage(const std::string& path)>;

  // `address` as for parse_tcp_address. Errors say what is wrong with it and what to do.
  static Result<std::unique_ptr<HttpEndpoint>> start(asio::io_context& core, const std::string& address, Pages pages);
  ~HttpEndpoint();
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;

  std::uint16_t port() const;

 private:
  struct Gate;
  explicit HttpEndpoint(std::shared_ptr<Gate> gate);
  static Task<void> accept_loop(std::shared_ptr<Gate> gate);
  const std::shared_ptr<Gate> gate_;
};

}  // namespace cardcage
