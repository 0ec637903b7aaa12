// The daemon's one TCP socket: GET /metrics, /healthz and /readyz over HTTP/1.1.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "host/core/clock.h"
#include "host/core/task.h"

namespace cardcage {

struct HttpPage {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// [core] Serves every client that can reach the address, so the pages hold no secrets. Slow or idle clients are
// disconnected after some seconds; the number of clients is limited.
class HttpEndpoint {
 public:
  // Makes the page of a path; the status is 404 for an unknown path. The task may outlive the function, so the function
  // is not a coroutine itself.
  using Pages = std::function<Task<HttpPage>(std::string path)>;

  // `address` as for parse_tcp_address. `clock` outlives the core's work.
  static Result<std::unique_ptr<HttpEndpoint>> start(asio::io_context& core, Clock& clock, const std::string& address,
                                                     Pages pages);
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
