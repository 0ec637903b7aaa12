// A module in a process of its own: its crash costs its own devices, and a stuck call ends with the process.
#pragma once

#include <memory>
#include <string>

#include "host/module/running_module.h"
#include "host/module/worker_link.h"

namespace cardcage {

// A worker that was killed and is still there.
Leftover leftover_of(std::string module, std::shared_ptr<ChildProcess> worker);

// [core] A call that is stuck is answered with SIGKILL, and a worker that ends, for whatever reason, is a lost
// instance.
class RemoteModule final : public RunningModule {
 public:
  // A worker that has loaded the module, and checked options. `core` and `clock` outlive the object.
  struct Parts {
    std::string name;  // in the configuration
    std::unique_ptr<WorkerLink> link;
    ModuleIdentity identity;
    OptionValues options;
  };
  static std::shared_ptr<RemoteModule> make(asio::io_context& core, Clock& clock, Parts parts);

  Task<Status> start(ModuleEvents told, Instant deadline) override;
  Task<Result<SnapshotPtr>> discover(Instant deadline) override;
  Task<Result<PreparedEdits>> prepare(ModuleClaim claim, Instant deadline) override;
  Task<Status> unprepare(ModuleClaim claim, Instant deadline) override;
  Task<Status> reconcile(std::vector<ModuleClaim> live, Instant deadline) override;
  Task<Result<std::vector<std::string>>> choose(std::vector<std::string> available, std::vector<std::string> required,
                                                std::size_t want, Instant deadline) override;
  Task<Status> pre_start(ModuleClaim claim, Instant deadline) override;
  Task<Status> check(std::string device_id, Instant deadline) override;
  Task<Status> quiesce(Instant deadline) override;
  Task<Status> resume(Instant deadline) override;
  Task<Status> stop(Instant deadline) override;
  std::vector<SaidLine> last_lines() const override { return link_->last_lines(); }
  Leftover leftover() const override { return leftover_of(name(), link_->process().child()); }

 private:
  RemoteModule(asio::io_context& core, Clock& clock, Parts parts);

  // `parts` go before the request, under its number.
  Task<Result<Answers>> call(std::string what, wire::Request request, Instant deadline,
                             std::vector<wire::Request> parts = {});
  Task<Status> done(std::string what, wire::Request request, Instant deadline, std::vector<wire::Request> parts = {});
  bool cancel(std::uint64_t number) override;
  bool is_running(std::uint64_t number) const override { return link_->is_running(number); }
  Error give_up(const std::string& what, WallTime since) override;
  Task<void> end_worker(Instant deadline);

  const OptionValues options_;
  const std::unique_ptr<WorkerLink> link_;
};

}  // namespace cardcage
