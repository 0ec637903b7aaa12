// Moves the devices of claims to the sandboxes of their pods and back, by modules that can (cage.sandbox).
//
// The container runtime reports a sandbox to its NRI plugins, and starts its containers whether or not they succeed.
// Therefore the hook asks before each container, which does not start unless the devices are there.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/access/pod_network.h"
#include "host/claim/device_directory.h"
#include "host/core/clock.h"
#include "host/core/unique_fd.h"
#include "host/hook/hook_request.h"
#include "host/ledger/ledger.h"
#include "host/model/pod_sandbox.h"
#include "host/sandbox/attachments.h"

namespace cardcage {

// All members outlive the sandboxes.
struct SandboxEnvironment {
  asio::io_context& core;
  Clock& clock;
  const Ledger& ledger;
  const DeviceDirectory& devices;
  const Attachments& attachments;
  // Runs the work while nothing else runs for the claim. Fails if its driver is not served.
  std::function<Task<Status>(std::string driver, ClaimRef claim, std::function<Task<Status>()> work)> alone;
};

// [core]
class Sandboxes {
 public:
  struct OpenSandbox {
    std::string id;               // empty if the container runtime did not report it
    ino_t network_namespace = 0;  // inode number of net:[4026532281]
    SandboxedPod pod;
  };
  explicit Sandboxes(SandboxEnvironment environment) : environment_(std::move(environment)) {}

  // Called when a pod has its sandbox: attaches the pod's claims, as far as the daemon knows them.
  Task<Status> start(RuntimeSandbox sandbox);
  // Called before a pod loses its sandbox: takes the devices back. Failures are left to unprepare.
  Task<void> stop(RuntimeSandbox sandbox);
  // Called with all existing sandboxes: forgets attachments to others.
  void keep(const std::vector<RuntimeSandbox>& sandboxes);
  // Called before a container with the claim starts in this namespace.
  Task<Status> admit(HookRequest request, UniqueFd network_namespace);

 private:
  bool moves_devices(const ClaimRecord& claim) const;
  bool is_in(const Attachment& attachment, const OpenSandbox& sandbox) const;
  using ClaimCheck = std::function<Status(const ClaimRecord& claim)>;  // runs in the claim's turn
  Task<Status> attach(ClaimKey claim, OpenSandbox sandbox, ClaimCheck check);
  Task<Result<bool>> attach_part(const ClaimRecord& claim, const ModulePart& part, SandboxedPod pod);
  Task<Status> detach(Attachment attachment, OpenSandbox sandbox);
  Task<Status> alone(ClaimKey claim, std::function<Task<Status>()> work);

  const SandboxEnvironment environment_;
  std::map<std::string, std::string> paths_;  // paths of network namespaces, by sandbox id; the hook knows none
};

}  // namespace cardcage
