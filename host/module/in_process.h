// A module inside the daemon: fast, and only as safe as the module is.
//
// All calls happen on one thread, in order, also for modules that say CAGE_MODULE_CONCURRENT: overlap is an
// optimisation that they permit, not one that they need.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "host/core/clock.h"
#include "host/module/core_gate.h"
#include "host/module/instance.h"
#include "host/module/lane.h"
#include "host/module/module.h"

namespace cardcage {

// How long after its deadline a call may go on before the instance counts as stuck.
constexpr std::chrono::seconds kStuckGrace{5};

// [core] A call that passes its deadline is answered, cancelled and watched. If it still runs kStuckGrace later, the
// instance is lost for good: a late return does not bring it back, since nobody knows what it left behind. Every
// further call is answered UNAVAILABLE at once; when the module does return, it is stopped and destroyed.
class InProcessModule final : public Module, public std::enable_shared_from_this<InProcessModule> {
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

  const ModuleIdentity& identity() const override { return instance_->identity(); }
  Task<Status> start(ModuleEvents events, Instant deadline) override;
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

 private:
  enum class State { kLoaded, kStarted, kStopped };
  // Where handlers from other threads find the object; empty once it is gone. [core]
  struct Binding {
    InProcessModule* module = nullptr;
  };
  struct Pending {
    std::shared_ptr<CallContext> context;
    std::weak_ptr<OneShot<Status>> ended;
  };
  using Work = std::move_only_function<void(Instance&, CallContext&)>;

  InProcessModule(asio::io_context& core, Clock& clock, std::shared_ptr<CoreGate> gate, std::unique_ptr<Lane> lane);

  template <class T, class Function>
  Task<Result<T>> call(std::string what, Instant deadline, Function function);
  // For a call of an optional family that the module does not have; costs no visit to its thread.
  std::unexpected<Error> lacks(std::string_view what, std::string_view family) const;
  Status admit(const std::string& what, Instant deadline) const;
  std::shared_ptr<OneShot<Status>> enqueue(const std::shared_ptr<CallContext>& context, Work work);
  Task<Status> wait(std::shared_ptr<CallContext> context, std::shared_ptr<OneShot<Status>> ended, Instant deadline);
  Error too_late(const CallContext& context) const;
  static Task<void> watch(std::shared_ptr<Binding> binding, Clock& clock, std::shared_ptr<CallContext> context,
                          Instant until, std::chrono::system_clock::time_point since);
  void declare_stuck(const CallContext& context, std::chrono::system_clock::time_point since);
  void deliver_news();
  void tear_down_later();

  asio::io_context& core_;
  Clock& clock_;
  std::shared_ptr<CoreGate> gate_;
  std::unique_ptr<Lane> lane_;
  std::shared_ptr<Binding> binding_ = std::make_shared<Binding>();
  std::shared_ptr<Instance> instance_;
  ModuleEvents events_;  // empty when nothing is to be reported
  State state_ = State::kLoaded;
  std::optional<Error> lost_;
  std::uint64_t last_call_ = 0;
  std::map<std::uint64_t, Pending> pending_;
};

}  // namespace cardcage
