// The admin API on its unix socket, for cagectl.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>

#include "host/core/clock.h"
#include "host/view/daemon_view.h"

namespace cardcage {

// True for root and for the user that the daemon runs as.
bool may_administer(uid_t peer, uid_t daemon);

// [core] The core responds to every call; gRPC's threads only carry requests to it. The view and the clock outlive the
// server.
class AdminServer {
 public:
  AdminServer(asio::io_context& core, Clock& clock, std::filesystem::path socket, DaemonView& view);
  // Listens on the socket, mode 0600, unless it does already; creates its folder with mode 0700 if it is missing.
  // kAlreadyExists if another daemon serves it. Connections of other users (SO_PEERCRED) are closed silently.
  Status restore();
  // Removes the socket, gives calls in flight a second to finish and closes all connections. Await it before the
  // destructor.
  Task<void> stop();
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace cardcage
