// The admin API on its unix socket, for cagectl.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>

#include "host/core/task.h"
#include "host/view/daemon_view.h"

namespace cardcage {

// Root, and whoever the daemon runs as.
bool may_administer(uid_t peer, uid_t daemon);

// [core] Answers come from the core; gRPC's threads only carry requests to it. The view must outlive the server.
class AdminServer {
 public:
  // Listens on `socket`, mode 0600, in a folder that is made with mode 0700 if missing. kAlreadyExists if another
  // daemon serves it. Connections of other users are closed without a word (SO_PEERCRED).
  static Result<std::unique_ptr<AdminServer>> start(asio::io_context& core, const std::filesystem::path& socket,
                                                    DaemonView& view);
  // Removes the socket, gives calls in flight a second and ends all connections. To be awaited before the end.
  Task<void> stop();
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

 private:
  struct State;
  explicit AdminServer(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace cardcage
