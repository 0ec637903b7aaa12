// A connection to the container runtime, on which both sides call each other.
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "host/core/clock.h"
#include "host/nri/multiplexer.h"
#include "host/nri/ttrpc_frame.h"

namespace cardcage {

// [core] Callers that respond after the connection has ended share it; their responses are dropped.
class RuntimeConnection : public std::enable_shared_from_this<RuntimeConnection> {
 public:
  // A call of the runtime to the plugin.
  struct Call {
    std::uint32_t stream = 0;
    std::string service, method, payload;
    std::optional<Duration> limit;  // time that the runtime waits
  };

  // Fails with kNotFound or kUnavailable if no runtime serves the socket.
  static Result<std::shared_ptr<RuntimeConnection>> open(asio::io_context& core, const std::filesystem::path& socket);

  // Reads until the connection ends, closes it, and returns why it ended.
  Task<Error> serve(std::function<void(Call)> called);
  // Calls the runtime and returns the payload of its response. Needs serve() to run.
  Task<Result<std::string>> call(Clock& clock, std::string service, std::string method, std::string payload,
                                 Instant deadline);
  // An error reaches the runtime with its code and message.
  void respond(std::uint32_t stream, const Result<std::string>& payload);
  // Later reasons are ignored.
  void close(Error why);

 private:
  explicit RuntimeConnection(asio::io_context& core) : core_(core), socket_(core) {}
  Status take_frames(std::string_view bytes, TtrpcReader& reader, Status (RuntimeConnection::*take)(const TtrpcFrame&));
  Status take_call(const TtrpcFrame& frame);
  Status take_response(const TtrpcFrame& frame);
  void send(Channel channel, const TtrpcFrame& frame);
  static Task<void> write(std::shared_ptr<RuntimeConnection> self);

  asio::io_context& core_;
  asio::local::stream_protocol::socket socket_;
  std::function<void(Call)> called_;
  Demultiplexer demultiplexer_;
  TtrpcReader plugin_reader_, runtime_reader_;
  std::uint32_t next_stream_ = 1;                                  // stream of the next call to the runtime
  std::map<std::uint32_t, OneShot<Result<std::string>>> waiting_;  // by stream, for the runtime's responses
  std::deque<std::string> unsent_;
  std::size_t unsent_bytes_ = 0;
  bool writing_ = false;
  std::optional<Error> ended_;
};

}  // namespace cardcage
