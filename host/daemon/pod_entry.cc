#include "host/daemon/pod_entry.h"

#include <utility>

namespace cardcage {

PodEntry::PodEntry(const Parts& parts)
    : core_(parts.core),
      clock_(parts.clock),
      node_(parts.node),
      attachments_(node_.run_dir / kAttachmentsFolder),
      hook_file_(std::make_shared<HookFile>(
          core_, clock_,
          HookFile::Places{.program = parts.hook_program,
                           .folder = node_.hooks_dir.empty() ? node_.state_dir / "hooks" : node_.hooks_dir,
                           .run_dir = node_.run_dir})),
      sandboxes_(SandboxEnvironment{.core = core_,
                                    .clock = clock_,
                                    .ledger = parts.ledger,
                                    .devices = parts.devices,
                                    .attachments = attachments_,
                                    .alone = parts.alone}),
      hooks_(core_, clock_, node_.run_dir / kHookSocket, [this](HookRequest request, UniqueFd network_namespace) {
        return sandboxes_.admit(std::move(request), std::move(network_namespace));
      }) {
  hook_file_->check();
}

void PodEntry::listen_to_runtime(TaskGroup& loops) {
  if (nri_ || stopping_ || node_.nri_socket.empty()) return;
  nri_ = std::make_unique<NriPlugin>(
      core_, clock_, node_.nri_socket,
      NriListener{.connected = [this](const std::vector<RuntimeSandbox>& sandboxes) { sandboxes_.keep(sandboxes); },
                  .starting = [this](RuntimeSandbox sandbox) { return sandboxes_.start(std::move(sandbox)); },
                  .stopping = [this](RuntimeSandbox sandbox) { return sandboxes_.stop(std::move(sandbox)); }});
  loops.spawn(nri_->run());
}

void PodEntry::stop_listening() {
  stopping_ = true;
  if (nri_) nri_->stop();
}

Status PodEntry::restore() {
  hook_file_->check();
  return hooks_.restore();
}

}  // namespace cardcage
