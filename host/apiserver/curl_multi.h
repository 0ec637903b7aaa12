// libcurl's multi interface on the core's event loop, and one transfer on it.
//
// libcurl measures its timeouts in real time, so these classes use the system's clock and no injected one.
#pragma once

#include <curl/curl.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/apiserver/http.h"
#include "host/apiserver/silence.h"
#include "host/core/clock.h"

namespace cardcage {

struct CurlHandleDeleter {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
using CurlHandle = std::unique_ptr<CURL, CurlHandleDeleter>;

struct CurlListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using CurlList = std::unique_ptr<curl_slist, CurlListDeleter>;

// [core] Its transfers share it, so that it outlives them.
class CurlMulti : public std::enable_shared_from_this<CurlMulti> {
 public:
  CurlMulti(asio::io_context& core, Duration silence_limit);
  CurlMulti(const CurlMulti&) = delete;
  CurlMulti& operator=(const CurlMulti&) = delete;
  ~CurlMulti();

  static Instant now() { return SystemClock().now(); }
  asio::io_context& core() { return core_; }
  // Returns a handle without options. Handles are reused, since making one costs more than a small request.
  CurlHandle take_handle();
  void give_back_handle(CurlHandle handle);
  // Starts the transfer of a handle whose CURLOPT_PRIVATE is its CurlTransfer. False when libcurl refuses.
  bool start(CURL* handle);
  void stop(CURL* handle);
  // Called when libcurl opens a socket. libcurl 7.88 does not tell when it closes a socket that never got connected; if
  // the next socket gets the same number, libcurl assumes that we watch it already.
  void note_opened(curl_socket_t fd);
  // Called for each request that waits for its response to begin.
  void wait_began(Instant start);
  void wait_ended();
  // Closes the connections that have been silent for too long while requests waited: their peer may be gone.
  void close_silent();

 private:
  struct Socket {
    Socket(asio::io_context& core, curl_socket_t fd) : descriptor(core, fd) {}
    ~Socket() { descriptor.release(); }  // libcurl owns the file descriptor
    asio::posix::stream_descriptor descriptor;
    int wanted = CURL_POLL_NONE;
    bool reading = false, writing = false;
  };

  static int on_socket(CURL*, curl_socket_t fd, int wanted, void* self, void*);
  static int on_timeout(CURLM*, long timeout_ms, void* self);
  void wait(const std::shared_ptr<Socket>& socket);
  void wait_for(const std::shared_ptr<Socket>& socket, asio::posix::descriptor_base::wait_type type, int event,
                bool Socket::* waiting);
  void act(curl_socket_t fd, int events);
  void arm(Instant expiry);

  asio::io_context& core_;
  // libcurl moves its timeout with every request, and setting a timer each time would cost more than the remaining work
  // of the request. So a timer that would fire too early is left alone, and compares with the timeout when it fires.
  asio::steady_timer timer_;
  std::optional<Instant> timeout_, armed_;
  bool starting_ = false;
  std::map<curl_socket_t, std::shared_ptr<Socket>> sockets_;
  const Duration silence_limit_;
  std::size_t waiting_ = 0;  // requests whose response has not begun
  // Survives the time in which libcurl keeps a connection without a request, when it has no Socket.
  std::map<curl_socket_t, Silence> silences_;
  std::vector<CurlHandle> idle_;
  CURLM* multi_;
};

// [core] One request and its response. The destructor cancels the request.
class CurlTransfer {
 public:
  enum class Mode { kWhole, kLines };

  CurlTransfer(std::shared_ptr<CurlMulti> multi, std::shared_ptr<const HttpPeer> peer, HttpRequest request, Mode mode);
  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;
  ~CurlTransfer();

  bool start(Duration timeout);
  bool ended() const { return result_.has_value(); }
  // Waits until data arrives or the transfer ends. Fails after the timeout or a cancellation.
  Task<Status> progress();
  // Returns true once a 2xx response to a kLines request has begun.
  bool streams_lines() const { return mode_ == Mode::kLines && status() / 100 == 2; }
  // The next complete line of a 2xx response.
  std::optional<std::string> next_line();
  // Call it only after the end.
  Result<HttpResponse> take_response();

  void on_end(CURLcode result);  // called by CurlMulti

 private:
  static std::size_t on_header(char*, std::size_t, std::size_t size, void* self);
  static std::size_t on_data(char* data, std::size_t, std::size_t size, void* self);
  void end_wait();
  void set_options(Duration timeout);
  void set_tls();
  long status() const;  // 0 until the response begins
  Instant limit() const;
  Error transport_error() const;

  std::shared_ptr<CurlMulti> multi_;
  std::shared_ptr<const HttpPeer> peer_;
  HttpRequest request_;
  Mode mode_;
  CurlHandle handle_;
  CurlList headers_;
  bool running_ = false, waiting_ = false;
  std::array<char, CURL_ERROR_SIZE> detail_{};
  std::string received_;
  std::size_t taken_ = 0;    // bytes of received_ that were handed out
  std::size_t scanned_ = 0;  // bytes of received_ that contain no further end of line
  std::optional<Error> refused_;
  std::optional<CURLcode> result_;
  Instant started_, last_data_;
  Duration timeout_{};
  asio::steady_timer wake_;
};

}  // namespace cardcage
