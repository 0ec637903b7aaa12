// Connects the daemon to the starts and ends of pods, so that devices of claims reach them.
#include "host/core/file.h"
#include "host/daemon.h"

namespace cardcage {

Status Daemon::open_sandboxes() {
  auto program = program_beside("cardcage-hook");
  if (!program) return std::unexpected(program.error());
  const NodeConfig& node = config_.node;
  hook_file_ = std::make_shared<HookFile>(
      core_, clock_,
      HookFile::Places{.program = std::move(*program),
                       .folder = node.hooks_dir.empty() ? node.state_dir / "hooks" : node.hooks_dir,
                       .run_dir = node.run_dir});
  hook_file_->look();
  sandboxes_ = std::make_unique<Sandboxes>(SandboxEnvironment{
      .core = core_,
      .clock = clock_,
      .ledger = *ledger_,
      .devices = table_,
      .attachments = attachments_,
      .alone = [this](std::string name, ClaimRef claim, std::function<Task<Status>()> work) -> Task<Status> {
        Driver* const driver = drivers_->find(name);
        if (driver == nullptr) co_return fail(Code::kUnavailable, "driver '{}' is not served", name);
        co_return co_await driver->run_alone(std::move(claim), std::move(work));
      }});
  hooks_ = std::make_unique<HookServer>(core_, clock_, config_.node.run_dir / kHookSocket,
                                        [this](HookRequest request, UniqueFd network_namespace) {
                                          return sandboxes_->admit(std::move(request), std::move(network_namespace));
                                        });
  return {};
}

// Starts the NRI plugin only if a module needs it, because every start of a pod waits for a plugin.
void Daemon::listen_to_runtime(const Supervisor& supervisor) {
  const std::optional<ModuleIdentity>& identity = supervisor.identity();
  if (nri_ || stopping_ || config_.node.nri_socket.empty() || !identity || !identity->has(Family::kSandbox)) return;
  nri_ = std::make_unique<NriPlugin>(
      core_, clock_, config_.node.nri_socket,
      NriListener{.connected = [this](const std::vector<RuntimeSandbox>& sandboxes) { sandboxes_->keep(sandboxes); },
                  .starting = [this](RuntimeSandbox sandbox) { return sandboxes_->start(std::move(sandbox)); },
                  .stopping = [this](RuntimeSandbox sandbox) { return sandboxes_->stop(std::move(sandbox)); }});
  loops_.spawn(nri_->run());
}

}  // namespace cardcage
