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

// A socket for all calls but those that change something.
struct ReadOnlySocket {
  std::filesystem::path path;
  gid_t group = 0;  // may connect, as the daemon's user may
};

// [core] The core responds to every call; gRPC's threads only carry requests to it. The view and the clock outlive the
// server.
class AdminServer {
 public:
  AdminServer(asio::io_context& core, Clock& clock, std::filesystem::path socket, DaemonView& view);
  // Refuses every command with kPermissionDenied.
  AdminServer(asio::io_context& core, Clock& clock, ReadOnlySocket socket, DaemonView& view);
  // Listens on the socket, unless it does already, and creates its folder if it is missing. The admin socket has mode
  // 0600 in a folder of 0700, and connections of other users (SO_PEERCRED) are closed silently; the read-only socket
  // has mode 0660 in a folder of 0755. kAlreadyExists if another daemon serves it.
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
