// A module in a process of its own: its crash affects only its own devices, and a stuck call ends with the process.
#pragma once

#include <memory>
#include <string>

#include "host/module/running_module.h"
#include "host/module/worker_link.h"

namespace cardcage {

// Makes the leftover of a killed worker: it, or a fork of it, has not exited yet.
Leftover leftover_of(std::string module, std::shared_ptr<ChildProcess> worker);

// [core] A worker with a stuck call is killed, and a worker that exits, for whatever reason, is a lost instance.
class RemoteModule final : public RunningModule {
 public:
  // `link` leads to a worker that has loaded the module. `core` and `clock` outlive the object.
  RemoteModule(asio::io_context& core, Clock& clock, std::unique_ptr<WorkerLink> link, Parts parts);

  std::vector<SaidLine> last_lines() const override { return link_->last_lines(); }
  Leftover leftover() const override;
  const WorkerLink& link() const { return *link_; }

 private:
  Status begin(std::uint64_t number, ModuleCall call, Instant deadline) override;
  bool cancel(std::uint64_t number) override;
  bool is_traced() const override;
  Error give_up(const OpenCall& call) override;
  Task<void> tear_down(Instant deadline) override;
  void take(const wire::Report& report);
  void take_ask(const wire::Ask& ask);
  Status send_live_claims(std::uint64_t number, const std::vector<ModuleClaim>& live);

  const std::unique_ptr<WorkerLink> link_;
};

}  // namespace cardcage
