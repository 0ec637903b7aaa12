// Keeps one configured module running: load, start, first discover; again with back-off after a failure; and lets go of
// its hardware while an operator says so.
//
// [core] The one owner of a module's instance. A module that is away keeps its devices listed, with health unknown and
// the reason.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "host/config/config.h"
#include "host/core/fault_point.h"
#include "host/core/wakeup.h"
#include "host/model/module.h"
#include "host/supervision/command.h"
#include "host/supervision/listed_devices.h"
#include "host/supervision/quiesce_marks.h"
#include "host/supervision/restart_policy.h"

namespace cardcage {

enum class ModuleState { kStarting, kReady, kBackingOff, kBroken, kStuck, kQuiesced, kStopped };
std::string to_string(ModuleState state);

class Supervisor {
 public:
  // Loads and checks the module's file; called again for every start. What a load that fails leaves behind goes to
  // `left`.
  using Loader =
      std::function<Task<Result<std::shared_ptr<Module>>>(const ModuleConfig&, Instant deadline, Leftover& left)>;
  struct Listener {
    // A first or different snapshot, or the health of a device: look at snapshot() and health().
    std::function<void(const Supervisor&)> changed;
    // After the first discover: the claims that the module may keep; it is told before anybody else calls it.
    std::function<std::vector<ModuleClaim>(const std::string& module)> live_claims;
    FaultHook fault = {};
  };

  Supervisor(ModuleConfig config, DeadlineConfig deadlines, Loader loader, asio::io_context& core, Clock& clock,
             QuiesceMarks& quiesced, Listener listener);

  // Runs until stop(); ends only then.
  Task<void> run();
  // Ends run(), then stops and drops the instance. Idempotent.
  Task<void> stop();

  // The module's file may be another one: takes it over if it starts and lists its devices, beside the running one
  // until then; else that one goes on. A module that is away is tried again at once.
  void renew();
  // The configuration from now on. Rules and deadlines count at once; what an instance sees is taken over with a new
  // one, as another file is. Repeat it as often as you like: it asks for nothing if nothing differs.
  void configure(ModuleConfig config, DeadlineConfig deadlines);
  // Why the module is to be gone when nothing holds its devices, for people; empty takes it back. It serves what it
  // has prepared until then, and nobody gets its devices any more.
  void drain(std::string why);
  // Nothing is held any more: ends the instance of a module that drains. It is tried again when somebody calls renew().
  void end_drained();
  // What an operator says: done, or why not. One at a time. A quiesce that fails has changed nothing; a resume or
  // restart that comes to no end within its limit goes on.
  Task<Status> obey(ModuleCommand command);

  // Of the running instance, with the newest rules.
  const ModuleConfig& config() const { return config_; }
  // What it is to run as: the same, unless a new one is being tried or was refused.
  const ModuleConfig& wanted() const { return wanted_ ? *wanted_ : config_; }
  // Why the wanted configuration is not that of the instance; nothing if it is, or is being tried.
  const std::optional<Error>& refused() const { return refused_; }
  // True until it is known what becomes of a start, a new file or a new configuration.
  bool undecided() const;
  const std::string& draining() const { return draining_; }
  ModuleState state() const { return state_; }
  // The running instance, or why there is none.
  Result<std::shared_ptr<Module>> module() const;
  // What the newest instance said of itself; nothing before the first successful load.
  const std::optional<ModuleIdentity>& identity() const { return identity_; }
  // The last good one, also while the module is away; null before the first.
  const SnapshotPtr& snapshot() const { return devices_.snapshot(); }
  // True once the first start ended, well or not: from then on the device list is as good as it gets.
  bool settled() const { return settled_; }
  DeviceHealth health(const Device& device) const;
  const std::optional<Error>& last_error() const { return last_error_; }
  // Why the module is in its state, for people; empty if there is nothing to say.
  std::string detail() const;
  // What an operator should look at; empty if there is nothing.
  std::string warning() const;
  const std::optional<ModuleEnd>& last_end() const { return last_end_; }
  // Of the running instance.
  std::vector<SaidLine> last_lines() const { return module_ ? module_->last_lines() : std::vector<SaidLine>(); }
  int restarts() const { return restarts_; }
  std::size_t recent_failures() const { return policy_.recent_failures(clock_.now()); }
  std::chrono::system_clock::time_point since() const { return since_; }

 private:
  // A command that waits for its turn, or is being carried out.
  struct Order {
    std::uint64_t number;
    ModuleCommand command;
    Instant deadline;
    OneShot<Status> done;
    bool begun = false;
  };

  // What run() does, one after the other; each ends when another is to be done.
  Task<void> live();
  Task<void> rest();
  Task<void> stay_stuck();
  Task<void> stay_quiesced();

  Task<Status> bring_up();
  Task<Result<std::shared_ptr<Module>>> load(ModuleConfig config);
  Task<Status> start_instance();
  Task<Status> take_up();
  ModuleEvents events(const std::shared_ptr<Module>& instance);
  Task<Status> discover();
  Task<Status> reconcile();
  Task<void> replace();
  Task<Result<SnapshotPtr>> try_out(std::shared_ptr<Module> next);
  void refuse(const Error& error);
  Task<void> take_over(std::shared_ptr<Module> next, SnapshotPtr devices);
  Task<void> serve();
  Task<void> check_devices();
  void note_end();
  Task<void> back_off(Instant begun);
  Task<void> release();
  std::optional<std::string> remains();
  std::string why_away() const;
  Task<void> let_go_of(std::shared_ptr<Module> instance);
  void enter(ModuleState state);
  void adopt(SnapshotPtr snapshot);

  const QuiesceMark* quiesced() const { return quiesced_.find(config_.name); }
  std::unexpected<Error> refusal(const QuiesceMark& mark) const;
  Task<bool> obey_while_ready();
  void refuse_while_stuck();
  void obey_while_away();
  void obey_while_quiesced();
  Status note_quiesced();
  Task<void> quiesce_instance();
  Task<Status> let_go(Instant deadline);
  void answer(Status outcome);

  ModuleConfig config_;
  std::optional<ModuleConfig> wanted_;  // what config_ is to become; stays while it is refused, for the next try
  std::optional<Error> refused_;
  std::string draining_;
  DeadlineConfig deadlines_;
  Loader loader_;
  asio::io_context& core_;
  Clock& clock_;
  QuiesceMarks& quiesced_;
  Listener listener_;

  std::shared_ptr<Module> module_;
  std::optional<ModuleIdentity> identity_;
  ListedDevices devices_;
  std::vector<Leftover> leftovers_;  // of instances and loads before
  std::string stuck_;                // what the first of them says
  ModuleState state_ = ModuleState::kStarting;
  std::chrono::system_clock::time_point since_;
  std::optional<Error> last_error_;
  std::optional<Error> lost_;
  std::optional<ModuleEnd> last_end_;
  bool settled_ = false;
  bool offered_ = false;  // others may have the instance
  bool rescan_ = false;
  bool renew_ = false;
  bool stopping_ = false;
  int restarts_ = 0;
  RestartPolicy policy_;
  Instant retry_;  // not before
  std::uint64_t last_order_ = 0;
  std::optional<Order> order_;
  Wakeup wakeup_;
  OneShot<bool> ended_;
};

}  // namespace cardcage
