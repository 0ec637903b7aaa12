// The common part of the kubelet-facing servers of a driver and of a resource: their life from start to stop.
#pragma once

#include "host/core/folder_watch.h"
#include "host/core/task_group.h"
#include "host/core/wakeup.h"
#include "host/kubelet/plugin_registration.h"
#include "host/model/served_name.h"
#include "host/rpc/grpc_server.h"

namespace cardcage {

// [core] A loop looks after the sockets and the registration, woken by inotify, by calls of the kubelet and by time.
// The owner awaits stop() before it destroys the server.
class PluginServer {
 public:
  // Aborts if the server was started and not stopped.
  virtual ~PluginServer();
  PluginServer(const PluginServer&) = delete;
  PluginServer& operator=(const PluginServer&) = delete;

  // Withdraws the server, lets the open calls end, ends the others before `deadline` and returns when nothing is left.
  Task<void> stop(Instant deadline);

 protected:
  PluginServer(asio::io_context& core, Clock& clock, ServedName name, api::registration::PluginInfo info);
  void start();
  void wake() { wake_.wake(); }

  // Makes missing sockets and takes due steps of the registration; returns the latest time of the next call.
  virtual Instant maintain() = 0;
  // Serves the streams until withdraw() closes them.
  virtual Task<void> run_streams() = 0;
  // Removes the sockets and closes the streams, so that the kubelet releases this instance before another one
  // registers.
  virtual Task<void> withdraw() = 0;
  // Refuses new calls and waits for the open ones; those still open at `deadline` fail.
  virtual Task<void> drain(Instant deadline) = 0;
  virtual GrpcServer& grpc() = 0;
  // Called after registration() has changed.
  virtual void registration_changed() { wake(); }

  asio::io_context& core() const { return core_; }
  Clock& clock() const { return clock_; }
  const ServedName& name() const { return name_; }
  FolderWatch& folders() { return folders_; }
  PluginRegistration& registration() { return registration_; }
  const PluginRegistration& registration() const { return registration_; }

 private:
  Task<void> maintain_until_stopped();

  asio::io_context& core_;
  Clock& clock_;
  const ServedName name_;
  Wakeup wake_;
  FolderWatch folders_;
  PluginRegistration registration_;
  TaskGroup loops_;
  enum class Phase : std::uint8_t { kCreated, kServing, kStopping, kStopped };
  Phase phase_ = Phase::kCreated;
};

}  // namespace cardcage
