// Brings the devices of claims into pods: the hook that runs before containers, and the container runtime's reports of
// pods.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "host/config/config.h"
#include "host/core/task_group.h"
#include "host/nri/nri_plugin.h"
#include "host/sandbox/attachments.h"
#include "host/sandbox/hook_file.h"
#include "host/sandbox/hook_server.h"
#include "host/sandbox/sandboxes.h"

namespace cardcage {

// [core]
class PodEntry {
 public:
  // All references outlive it.
  struct Parts {
    asio::io_context& core;
    Clock& clock;
    const NodeConfig& node;
    const std::filesystem::path& hook_program;
    const Ledger& ledger;
    const DeviceDirectory& devices;
    // See SandboxEnvironment.
    std::function<Task<Status>(std::string driver, ClaimRef claim, std::function<Task<Status>()> work)> alone;
  };
  explicit PodEntry(const Parts& parts);

  const Attachments& attachments() const { return attachments_; }
  HookFile& hook_file() const { return *hook_file_; }
  // Null until a module moves devices.
  const std::unique_ptr<NriPlugin>& nri() const { return nri_; }

  // Starts the NRI plugin, as one of `loops`. Call it only for a module that needs it, because every start of a pod
  // waits for a plugin.
  void listen_to_runtime(TaskGroup& loops);
  void stop_listening();
  // Listens for hooks, also after the socket was removed, and restores the program of the hook.
  Status restore();
  // Returns when the last hook has its reply.
  Task<void> stop(Instant deadline) { return hooks_.stop(deadline); }

 private:
  asio::io_context& core_;
  Clock& clock_;
  const NodeConfig& node_;
  const Attachments attachments_;
  const std::shared_ptr<HookFile> hook_file_;
  Sandboxes sandboxes_;
  HookServer hooks_;
  std::unique_ptr<NriPlugin> nri_;
  bool stopping_ = false;
};

}  // namespace cardcage
