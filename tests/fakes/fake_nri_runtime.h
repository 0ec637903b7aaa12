// A container runtime as seen by its plugins: containerd's side of the Node Resource Interface, as in pkg/adaptation of
// github.com/containerd/nri 0.11.
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/core/task.h"
#include "host/nri/multiplexer.h"
#include "host/nri/protocol.h"
#include "host/nri/ttrpc_frame.h"
#include "host/rpc/socket_listener.h"

namespace cardcage {

api::nri::PodSandbox nri_pod(const std::string& name, const std::string& network_namespace);

// [core] Serves one plugin at a time. Once it has registered, it gets its configuration and all pods.
class FakeNriRuntime {
 public:
  FakeNriRuntime(asio::io_context& core, std::filesystem::path socket) : core_(core), socket_(std::move(socket)) {}
  ~FakeNriRuntime() { hang_up(); }

  void listen();
  void stop_listening() { listener_.reset(); }

  // How it behaves.
  std::vector<api::nri::PodSandbox> pods;
  int pods_per_part = 1000;
  std::int64_t request_timeout = 2000;  // in milliseconds; 0 = not sent, as by older runtimes
  bool is_silent = false;               // does not respond to the registration
  bool is_deaf = false;                 // stops reading from a plugin once something has arrived
  std::string refusal;                  // response to the registration; empty = none

  // Actions of the plugin.
  int connections = 0;
  std::optional<api::nri::RegisterPluginRequest> registered;
  std::optional<api::nri::ConfigureResponse> configured;
  std::vector<api::nri::SynchronizeResponse> synchronized;

  // Calls the plugin, and returns the stream id of its response.
  std::uint32_t state_change(int event, const api::nri::PodSandbox& pod,
                             std::optional<std::chrono::nanoseconds> timeout = {});
  std::uint32_t call(const std::string& service, const std::string& method, const std::string& payload,
                     std::optional<std::chrono::nanoseconds> timeout = {});
  std::map<std::uint32_t, Result<std::string>> responses;

  void send_raw(const std::string& bytes);
  bool connected() const { return connection_ != nullptr; }
  void hang_up();

 private:
  struct Connection {
    explicit Connection(asio::io_context& core) : socket(core) {}
    asio::local::stream_protocol::socket socket;
    Demultiplexer demultiplexer;
    TtrpcReader calls, responses;
    bool open = true;
  };
  Task<void> serve(std::shared_ptr<Connection> connection);
  void take(Connection& connection, Channel channel, std::string_view bytes);
  void take_call(const TtrpcFrame& frame);
  void take_response(const TtrpcFrame& frame);
  void configure();
  void synchronize();

  asio::io_context& core_;
  const std::filesystem::path socket_;
  std::unique_ptr<SocketListener> listener_;
  std::shared_ptr<Connection> connection_;
  std::uint32_t next_stream_ = 1;
  std::uint32_t configuring_ = 0, synchronizing_ = 0;
  int told_ = 0;  // pods sent
};

}  // namespace cardcage
