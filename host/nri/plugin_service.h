// Handles the calls of the container runtime: the plugin's side of one connection.
#pragma once

#include <string>
#include <vector>

#include "host/nri/nri_listener.h"
#include "host/nri/pod_turns.h"
#include "host/nri/runtime_connection.h"

namespace cardcage {

// [core] Used while the connection is served. Work begun for a pod continues afterwards, and uses the listener.
class PluginService {
 public:
  // All members outlive the work for pods.
  struct Environment {
    asio::io_context& core;
    Clock& clock;
    const NriListener& listener;
    PodTurns& turns;
  };
  PluginService(const Environment& environment, std::shared_ptr<RuntimeConnection> connection)
      : environment_(environment), connection_(std::move(connection)) {}

  void take(RuntimeConnection::Call call);
  // Returns whether the runtime has listed all its sandboxes.
  bool synchronized() const { return synchronized_; }
  const std::string& runtime() const { return runtime_; }  // name and version

 private:
  Result<std::string> configure(const std::string& payload);
  Result<std::string> synchronize(const std::string& payload);
  Status begin_event(const RuntimeConnection::Call& call);
  Status begin_start(const RuntimeConnection::Call& call, const RuntimeSandbox& sandbox);
  Status begin_stop(const RuntimeConnection::Call& call, const RuntimeSandbox& sandbox);
  void respond_in_time(const RuntimeConnection::Call& call, const OneShot<Status>& done, Status late);

  const Environment environment_;
  const std::shared_ptr<RuntimeConnection> connection_;
  Duration request_limit_ = std::chrono::seconds(2);  // the runtimes' default, unless configured
  std::vector<RuntimeSandbox> told_;                  // sandboxes from the parts of Synchronize so far
  std::string runtime_;
  bool synchronized_ = false;
};

}  // namespace cardcage
