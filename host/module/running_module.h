// What in-process and remote modules share: which calls are let in, what happens at a deadline, and when an instance
// that does not keep its deadlines is given up.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/core/delayed_call.h"
#include "host/model/module_call.h"

namespace cardcage {

// How long after its deadline a call may go on before the instance counts as stuck.
constexpr std::chrono::seconds kStuckGrace{5};

// [core] A call that passes its deadline fails, is cancelled and is watched. If it still runs kStuckGrace later, the
// instance is lost for good, and every further call fails with UNAVAILABLE at once: a late return does not bring the
// instance back, since nobody knows what the call left behind.
//
// Coroutines of calls share the object with its owner.
class RunningModule : public Module, public std::enable_shared_from_this<RunningModule> {
 public:
  const ModuleIdentity& identity() const override { return identity_; }

  Task<Status> start(ModuleEvents events, Instant deadline) override;
  Task<Result<SnapshotPtr>> discover(Instant deadline) override;
  Task<Result<PreparedEdits>> prepare(ModuleClaim claim, Instant deadline) override;
  Task<Status> unprepare(ModuleClaim claim, Instant deadline) override;
  Task<Status> reconcile(std::vector<ModuleClaim> live, Instant deadline) override;
  Task<Result<std::vector<std::string>>> choose(std::vector<std::string> available, std::vector<std::string> required,
                                                std::size_t want, Instant deadline) override;
  Task<Status> pre_start(ModuleClaim claim, Instant deadline) override;
  Task<Status> check(std::string device_id, Instant deadline) override;
  Task<Status> finish_calls(Instant deadline) override;
  Task<Status> quiesce(Instant deadline) override;
  Task<Status> resume(Instant deadline) override;
  Task<Status> stop(Instant deadline) override;
  std::optional<BusyModule> busy() const override;

 protected:
  enum class State { kLoaded, kStarted, kStopped };
  using WallTime = std::chrono::system_clock::time_point;
  // A call that somebody waits for or that the module is still busy with.
  struct OpenCall {
    std::string_view what;
    WallTime since;
    Instant begun, deadline;
    OneShot<Result<ModuleReply>> reply;
    DelayedCall stuck;  // if the call goes on after its deadline
  };

  // `options` are checked. `core` and `clock` outlive the object.
  RunningModule(asio::io_context& core, Clock& clock, std::string name, ModuleIdentity identity, OptionValues options);

  // Hands the call to the module; close_call() follows when the module has returned. An error fails the call at once.
  virtual Status begin(std::uint64_t number, ModuleCall call, Instant deadline) = 0;
  // Nobody waits for the call any more: tells the module, and drops a call that has not begun. True if it goes on.
  virtual bool cancel(std::uint64_t number) = 0;
  // The instance is stuck in `call`: ends what can be ended and says so.
  virtual Error give_up(const OpenCall& call) = 0;
  // After the stop call, whatever came of it.
  virtual Task<void> tear_down(Instant deadline) = 0;

  void close_call(std::uint64_t number, Result<ModuleReply> reply);
  // Fails all calls, now and from now on, and tells the owner.
  void lose(Error why);

  static std::string timestamp(WallTime time);
  const std::string& name() const { return name_; }
  State state() const { return state_; }
  const std::optional<Error>& lost() const { return lost_; }
  const ModuleEvents& events() const { return events_; }
  // Null if there is none. The module gets its calls one after the other, so it is busy with the oldest.
  const OpenCall* oldest_call() const { return open_.empty() ? nullptr : &open_.begin()->second; }
  std::uint64_t next_number() { return ++last_call_; }
  Clock& clock() const { return clock_; }

 private:
  Task<Result<ModuleReply>> execute(ModuleCall call, Instant deadline);
  template <class Reply>
  Task<Result<Reply>> execute_for(ModuleCall call, Instant deadline);
  // Why a call may not be made, if it may not.
  Status admit(const ModuleCall& call, Instant deadline) const;
  Error unanswered(std::uint64_t number, Instant deadline) const;
  void forget_call(std::uint64_t number);
  // Gives the instance up if it is stuck in this call, and not in an older one.
  void check_stuck(std::uint64_t number);

  asio::io_context& core_;
  Clock& clock_;
  const std::string name_;  // in the configuration
  const ModuleIdentity identity_;
  OptionValues options_;  // moved out by start
  ModuleEvents events_;   // empty when nothing is to be reported
  State state_ = State::kLoaded;
  std::optional<Error> lost_;
  std::uint64_t last_call_ = 0;
  std::map<std::uint64_t, OpenCall> open_;
  std::vector<OneShot<Status>> waiting_for_idle_;
};

}  // namespace cardcage
