// Everything the kubelet sees of one DRA driver: two sockets, registration, prepare and unprepare, health.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "host/core/folder_watch.h"
#include "host/dra/dra_service.h"
#include "host/dra/health_stream.h"
#include "host/kubelet/plugin_registration.h"
#include "host/kubelet/socket_dir.h"
#include "host/rpc/grpc_server.h"
#include "host/rpc/socket_listener.h"

namespace cardcage {

struct DriverServerOptions {
  std::string driver;
  std::filesystem::path kubelet_root;
  std::string instance;  // may be empty; see driver_sockets
  DraLimits limits;
  HealthTiming health;
};

// What operators see of a driver.
struct DriverStatus {
  std::string driver;
  DriverSockets sockets;
  RegistrationView registration;
  std::size_t open_calls = 0, health_streams = 0;
};

// [core] Looks after its sockets: one that disappears is made again within a second, and a kubelet that refused the
// driver is asked again with growing pauses.
class DriverServer {
 public:
  // Serves at once: the service socket first, then the registration socket, which kubelets dial as soon as they see
  // it. `claims` and `health` outlive the server. Errors say which path is in the way and what to do.
  static Result<std::unique_ptr<DriverServer>> start(asio::io_context& core, Clock& clock, ClaimService& claims,
                                                     HealthBoard& health, DriverServerOptions options);
  // Must have been stopped.
  ~DriverServer();
  DriverServer(const DriverServer&) = delete;
  DriverServer& operator=(const DriverServer&) = delete;

  // Takes the sockets away, lets the open calls end, ends the rest before `deadline` and returns when nothing is left.
  Task<void> stop(Instant deadline);
  DriverStatus status() const;
  void set_limits(const DraLimits& limits) { dra_.set_limits(limits); }

 private:
  DriverServer(asio::io_context& core, Clock& clock, ClaimService& claims, HealthBoard& health,
               DriverServerOptions options, DriverSockets sockets);
  Status open_missing();
  void registration_changed();
  void note_silence();
  Task<void> keep_sockets();
  Task<void> run();

  asio::io_context& core_;
  Clock& clock_;
  const DriverServerOptions options_;
  const DriverSockets sockets_;
  DraService dra_;
  HealthService health_;
  PluginRegistration registration_;
  GrpcServer server_;
  FolderWatch watch_;
  std::unique_ptr<SocketListener> service_socket_, registration_socket_;
  Instant asked_since_{};  // when the registration socket was made
  bool silence_noted_ = false;
  std::optional<Instant> retry_;  // when a refused registration is offered again
  int refusals_ = 0;
  Wakeup wake_;
  OneShot<bool> ended_;
  bool stopping_ = false, stopped_ = false;
};

}  // namespace cardcage
