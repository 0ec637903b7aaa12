// Everything that the kubelet sees of one DRA driver: two sockets, registration, prepare and unprepare, health.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "host/core/backoff.h"
#include "host/dra/dra_service.h"
#include "host/dra/health_stream.h"
#include "host/kubelet/plugin_registration.h"
#include "host/kubelet/plugin_server.h"
#include "host/kubelet/registration.h"
#include "host/kubelet/socket_dir.h"
#include "host/rpc/socket_listener.h"

namespace cardcage {

struct DriverServerOptions {
  std::string driver;
  std::filesystem::path kubelet_root;
  std::string instance;  // may be empty; see driver_sockets
  DraLimits limits;
  HealthTiming health;
};

// The state of a driver for operators.
struct DriverStatus {
  DriverSockets sockets;
  RegistrationView registration;
  std::size_t open_calls = 0, health_streams = 0;
};

// [core] A socket that disappears is made again within a second. A kubelet that refused the driver is offered it again
// with growing pauses.
class DriverServer final : public PluginServer {
 public:
  // Serves at once. The service socket comes first, because kubelets dial as soon as they see the registration socket.
  // `claims` and `health` outlive the server. Errors say which path is in the way and what to do.
  static Result<std::unique_ptr<DriverServer>> start(asio::io_context& core, Clock& clock, ClaimService& claims,
                                                     HealthBoard& health, const DriverServerOptions& options);

  DriverStatus status() const;
  void set_limits(const DraLimits& limits) { dra_.set_limits(limits); }

 private:
  DriverServer(asio::io_context& core, Clock& clock, ClaimService& claims, HealthBoard& health,
               const DriverServerOptions& options, DriverSockets sockets);
  Status open_missing_sockets();
  Instant maintain() override;
  Task<void> run_streams() override { return health_.run(); }
  Task<void> withdraw() override;
  Task<void> drain(Instant deadline) override { return dra_.drain(deadline); }
  GrpcServer& grpc() override { return server_; }
  void registration_changed() override;

  const DriverSockets sockets_;
  DraService dra_;
  HealthService health_;
  GrpcServer server_;
  std::unique_ptr<SocketListener> service_socket_, registration_socket_;
  LongSilence silence_;
  std::optional<Instant> offer_again_;  // the next offer of a refused driver
  Backoff refusals_;
};

}  // namespace cardcage
