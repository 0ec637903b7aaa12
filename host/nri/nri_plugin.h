// The daemon as a plugin of the container runtime (Node Resource Interface): it is told of the start and stop of pods'
// sandboxes.
#pragma once

#include <filesystem>
#include <memory>

#include "host/core/backoff.h"
#include "host/core/folder_watch.h"
#include "host/core/wakeup.h"
#include "host/model/condition.h"
#include "host/nri/nri_listener.h"
#include "host/nri/pod_turns.h"
#include "host/nri/runtime_connection.h"

namespace cardcage {

// [core] Must outlive run(). Connects whenever a runtime serves the socket, which may be never.
class NriPlugin {
 public:
  NriPlugin(asio::io_context& core, Clock& clock, std::filesystem::path socket, NriListener listener);

  // Returns after stop(), once no call of the listener is running.
  Task<void> run();
  void stop();

  // The reasons are "connected", "registering", "no runtime" and "failed".
  const Condition& condition() const { return condition_; }

 private:
  Task<Error> serve();
  void take(RuntimeConnection::Call call);
  static Task<void> introduce(std::shared_ptr<RuntimeConnection> connection, Clock& clock);
  void set_condition(Condition condition);

  asio::io_context& core_;
  Clock& clock_;
  const std::filesystem::path socket_;
  const NriListener listener_;
  PodTurns turns_;
  Backoff pause_;
  Wakeup look_again_;
  FolderWatch folder_;
  std::shared_ptr<RuntimeConnection> connection_;  // the current one or the last one
  Condition condition_;
  bool stopped_ = false;
};

}  // namespace cardcage
