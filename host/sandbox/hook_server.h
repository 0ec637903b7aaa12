// The socket at which hooks request the devices of a container that is about to start.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "host/core/clock.h"
#include "host/core/task_group.h"
#include "host/core/unique_fd.h"
#include "host/hook/hook_request.h"
#include "host/rpc/socket_listener.h"

namespace cardcage {

// [core]
class HookServer {
 public:
  using Answer = std::function<Task<Status>(HookRequest request, UniqueFd network_namespace)>;

  HookServer(asio::io_context& core, Clock& clock, std::filesystem::path socket, Answer answer);

  // Listens, also after the socket or its folder was removed.
  Status restore();
  // Stops listening, and returns when the last hook has its reply. Await it before the destructor.
  Task<void> stop(Instant deadline);

 private:
  Task<void> serve(UniqueFd connection);

  asio::io_context& core_;
  Clock& clock_;
  const std::filesystem::path socket_;
  const Answer answer_;
  std::unique_ptr<SocketListener> listener_;
  TaskGroup hooks_;
};

}  // namespace cardcage
