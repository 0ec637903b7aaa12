// A module inside the daemon: fast, and only as safe as the module is.
//
// All calls happen on one thread, in order, also for modules that say CAGE_MODULE_CONCURRENT: overlap is an
// optimisation that they permit, not one that they need.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "host/instance/instance.h"
#include "host/module/core_gate.h"
#include "host/module/lane.h"
#include "host/module/running_module.h"

namespace cardcage {

// [core] When a stuck module does return, it is stopped and destroyed.
class InProcessModule final : public RunningModule {
 public:
  // A loaded module with checked options, and the thread that loaded it. `core` and `clock` outlive the object.
  struct Parts {
    std::string name;  // in the configuration
    LoadedModule module;
    ModuleIdentity identity;
    OptionValues options;
  };
  static std::shared_ptr<InProcessModule> make(asio::io_context& core, Clock& clock, std::shared_ptr<CoreGate> gate,
                                               std::unique_ptr<Lane> lane, Parts parts);
  // Call stop() first. An instance that still runs is cancelled and stops on its own thread, unwatched.
  ~InProcessModule() override;

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
  std::vector<SaidLine> last_lines() const override { return instance_->services().last_lines(); }
  Leftover leftover() const override;

 private:
  using Work = std::move_only_function<void(Instance&, CallContext&)>;

  InProcessModule(asio::io_context& core, Clock& clock, std::shared_ptr<CoreGate> gate, std::unique_ptr<Lane> lane,
                  Parts parts);

  template <class T, class Function>
  Task<Result<T>> call(std::string what, Instant deadline, Function function);
  void enqueue(const std::shared_ptr<CallContext>& context, const Ended& ended, Work work);
  bool cancel(std::uint64_t number) override;
  bool is_running(std::uint64_t number) const override;
  Error give_up(const std::string& what, WallTime since) override;
  void deliver_news();
  void tear_down_later();
  std::string stuck_text(const std::string& what, WallTime since) const;

  const std::shared_ptr<CoreGate> gate_;
  const std::unique_ptr<Lane> lane_;
  std::shared_ptr<Instance> instance_;
  std::map<std::uint64_t, std::shared_ptr<CallContext>> calls_;
  const std::shared_ptr<std::atomic<bool>> torn_down_ = std::make_shared<std::atomic<bool>>(false);
  std::string stuck_;  // in what, if the instance could not be stopped in time
};

}  // namespace cardcage
