// What a started module has in common, whatever runs it: which calls are let in, what happens at a deadline, and when
// an instance that does not keep them is given up.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "host/core/clock.h"
#include "host/model/module.h"

namespace cardcage {

// How long after its deadline a call may go on before the instance counts as stuck.
constexpr std::chrono::seconds kStuckGrace{5};

// [core] A call that passes its deadline is answered, cancelled and watched. If it still runs kStuckGrace later, the
// instance is lost for good: a late return does not bring it back, since nobody knows what it left behind. Every
// further call is answered UNAVAILABLE at once.
class RunningModule : public Module, public std::enable_shared_from_this<RunningModule> {
 public:
  ~RunningModule() override { binding_->module = nullptr; }
  const ModuleIdentity& identity() const override { return identity_; }
  Task<Status> finish_calls(Instant deadline) override;

 protected:
  enum class State { kLoaded, kStarted, kStopped };
  using Ended = std::shared_ptr<OneShot<Status>>;
  using WallTime = std::chrono::system_clock::time_point;
  // Where handlers that may come late find the object; empty once it is gone. [core]
  struct Binding {
    RunningModule* module = nullptr;
  };

  RunningModule(asio::io_context& core, Clock& clock, std::string name, ModuleIdentity identity);

  // Why a call may not be made, if it may not.
  Status admit(const std::string& what, Instant deadline) const;
  // For a call of an optional family that the module does not have; costs no visit to it.
  std::unexpected<Error> lacks(std::string_view what, std::string_view family) const;
  // Of calls that were admitted. `ended` of open_call() is to be set when the module has returned; wait() answers then,
  // or at the deadline, or when the instance is lost.
  std::uint64_t next_number() { return ++last_call_; }
  Ended open_call(std::uint64_t number, const std::string& what);
  Task<Status> wait(std::uint64_t number, Ended ended, Instant deadline);
  // Fails all calls, now and from now on, and tells the owner.
  void lose(Error why);

  // start() and stop() of the object, once each.
  Status begin_life(ModuleEvents events);
  // False if there is nothing to stop.
  bool end_life() { return std::exchange(state_, State::kStopped) == State::kStarted; }

  // Nobody waits for the call any more: tells the module, drops a call that has not begun. True if it has and goes on.
  virtual bool cancel(std::uint64_t number) = 0;
  virtual bool is_running(std::uint64_t number) const = 0;
  // A call is stuck: ends what can be ended, and says so.
  virtual Error give_up(const std::string& what, WallTime since) = 0;

  static std::string timestamp(WallTime time);
  const std::string& name() const { return name_; }
  State state() const { return state_; }
  const std::optional<Error>& lost() const { return lost_; }
  ModuleEvents& events() { return events_; }
  const std::shared_ptr<Binding>& binding() const { return binding_; }
  asio::io_context& core() const { return core_; }
  Clock& clock() const { return clock_; }

 private:
  struct Open {
    std::string what;
    std::weak_ptr<OneShot<Status>> ended;
  };
  Error too_late(std::uint64_t number, const std::string& what) const;
  static Task<void> watch(std::shared_ptr<Binding> binding, Clock& clock, std::uint64_t number, std::string what,
                          Instant until, WallTime since);

  asio::io_context& core_;
  Clock& clock_;
  const std::string name_;  // in the configuration
  const ModuleIdentity identity_;
  const std::shared_ptr<Binding> binding_ = std::make_shared<Binding>();
  ModuleEvents events_;  // empty when nothing is to be reported
  State state_ = State::kLoaded;
  std::optional<Error> lost_;
  std::uint64_t last_call_ = 0;
  std::map<std::uint64_t, Open> open_;
};

}  // namespace cardcage
