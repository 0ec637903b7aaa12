// Keeps one configured module running: loads and starts it, lists its devices, starts it again after a failure,
// replaces it when its file or configuration changes, and takes it off its hardware while an operator wants that.
//
// [core] The one owner of a module's instance. A module that is away keeps its devices listed, with health unknown and
// the reason. What is true of the module is in Lifecycle; the coroutines here load, start, call and stop it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/config/config.h"
#include "host/core/delayed_call.h"
#include "host/core/fault_point.h"
#include "host/core/rate_limit.h"
#include "host/core/task_group.h"
#include "host/core/wakeup.h"
#include "host/loader/loader.h"
#include "host/model/module.h"
#include "host/supervision/command.h"
#include "host/supervision/leftovers.h"
#include "host/supervision/lifecycle.h"
#include "host/supervision/listed_devices.h"
#include "host/supervision/quiesce_marks.h"

namespace cardcage {

class Supervisor {
 public:
  // `left` tells of what a failed attempt may leave behind.
  struct Loader {
    // Copies and checks the module's file, and runs nothing of it.
    std::function<Task<Result<ModuleBuild>>(const ModuleConfig&, Instant deadline, Leftover& left)> stage;
    std::function<Task<Result<std::shared_ptr<Module>>>(const ModuleConfig&, ModuleBuild, Instant deadline,
                                                        Leftover& left)>
        load;
  };
  struct Listener {
    // A first or different snapshot, the health of a device, or the state of the module.
    std::function<void(const Supervisor&)> changed;
    // The claims that a module may keep. An instance is told them after its first discover, before other calls.
    std::function<std::vector<ModuleClaim>(const std::string& module)> live_claims;
    FaultHook fault = {};
  };

  Supervisor(ModuleConfig config, DeadlineConfig deadlines, Loader loader, asio::io_context& core, Clock& clock,
             QuiesceMarks& marks, Listener listener);

  // Runs until stop().
  Task<void> run();
  // Ends run(), which stops and drops the instance. Idempotent.
  Task<void> stop();

  // The module's file may have changed: starts it beside the running instance, and takes it over once it has listed
  // its devices; if that fails, the running one goes on. A module that is away is tried again at once.
  void renew();
  // The configuration from now on. Rules and deadlines count at once; what an instance sees needs a new one, which is
  // taken over as a new file is. Idempotent.
  void configure(ModuleConfig config, DeadlineConfig deadlines);
  // The module is to go once nothing holds its devices; `why` is for people, and an empty one takes it back. It serves
  // what it has prepared until then, but its devices are not offered any more.
  void drain(std::string why);
  // Nothing holds a device any more: stops the instance of a module that drains. renew() starts it again.
  void end_drained();
  // Executes what an operator asks for, one command at a time. A quiesce that fails changes nothing; a resume or
  // restart that does not end within its limit goes on.
  Task<Status> execute(ModuleCommand command);

  // What the instance runs with, but for rules, which are the newest.
  const ModuleConfig& config() const { return life_.config(); }
  // Differs from config() while a new configuration is tried, and after it was refused.
  const ModuleConfig& wanted() const { return life_.target().wanted(); }
  // Why the wanted configuration does not run; nothing while it does, or is tried.
  const std::optional<Error>& refused() const { return life_.target().refused(); }
  // True while a start, a new file or a new configuration may still succeed or fail.
  bool undecided() const { return life_.undecided(); }
  // Why it drains; empty if it does not.
  const std::string& draining() const { return life_.draining(); }
  ModuleState state() const { return life_.state(); }
  // The running instance, or why there is none.
  Result<std::shared_ptr<Module>> module() const;
  // There is none now, but there may be one by then without anybody's help.
  bool returns_by(Instant when) const { return life_.returns_by(when); }
  // Since when there is none, if there was one and another may come without anybody's help.
  std::optional<Instant> away_since() const { return life_.away_since(); }
  // Of the newest instance; nothing before the first successful load.
  const std::optional<ModuleIdentity>& identity() const { return identity_; }
  // The last good one, also while the module is away; null before the first.
  const SnapshotPtr& snapshot() const { return devices_.snapshot(); }
  // True once the first start has ended, well or not: the device list is as good as it gets.
  bool settled() const { return life_.settled(); }
  // As last reported, unless the module is away. A taint that it advised stays until it reports anew.
  DeviceHealth health(const Device& device) const;
  // As last reported, wherever the module is now.
  DeviceHealth reported_health(const Device& device) const { return devices_.health(device.id); }
  std::optional<Error> last_error() const { return life_.last_error(); }
  // Why the module is in its state, for people; empty if there is nothing to say.
  std::string detail() const;
  // What an operator should look at; empty if there is nothing.
  std::string warning() const;
  const std::optional<ModuleEnd>& last_end() const { return last_end_; }
  // Of the running instance.
  std::vector<SaidLine> last_lines() const { return module_ ? module_->last_lines() : std::vector<SaidLine>(); }
  int restarts() const { return life_.restarts(); }
  std::size_t recent_failures() const { return life_.restart_policy().recent_failures(clock_.now()); }
  std::chrono::system_clock::time_point since() const { return life_.since(); }

 private:
  using Step = Lifecycle::Step;

  // A command that waits for its turn, or is being executed.
  struct Order {
    ModuleCommand command;
    Instant deadline;
    OneShot<Status> done;
    bool begun = false;
  };

  // The steps of run().
  Task<void> run_instance();
  Task<void> wait_before_retry();
  Task<void> wait_until_unstuck();
  Task<void> stay_quiesced();

  Task<Status> start_or_resume();
  Task<Status> start_instance();
  Task<Result<ModuleBuild>> stage(ModuleConfig config);
  Task<Result<std::shared_ptr<Module>>> load(ModuleConfig config, ModuleBuild build);
  Task<Result<std::shared_ptr<Module>>> load_file(ModuleConfig config);
  Task<Result<std::shared_ptr<Module>>> load_file_or_last_build(ModuleConfig config);
  void keep_build(ModuleBuild build);
  ModuleEvents events(const std::shared_ptr<Module>& instance);
  Task<Status> discover_and_reconcile();
  Task<Status> discover();
  Task<Status> reconcile();
  Task<void> serve();
  // Instant::max() while none is requested.
  Instant rescan_due();
  Task<void> rescan();
  Task<void> check_devices();
  void tell_health();
  Task<void> back_off(Instant begun);
  void record_end();
  // What the instance has been busy with for so long that people should know; empty if there is nothing.
  std::string slow_call() const;
  std::string left_out() const;
  Task<void> release();
  Task<void> stop_instance(std::shared_ptr<Module> instance);
  void adopt_snapshot(SnapshotPtr snapshot);

  Task<void> try_replacement();
  Task<Result<SnapshotPtr>> try_out(std::shared_ptr<Module> next);
  void refuse(const Error& error);
  // True if the new instance stays.
  Task<bool> take_over(std::shared_ptr<Module> next, SnapshotPtr devices);
  void go_back(std::shared_ptr<Module> old, SnapshotPtr devices, ModuleConfig before, const Error& why);
  void retire(std::shared_ptr<Module> instance);
  Task<void> stop_when_idle(std::shared_ptr<Module> instance);
  Task<void> stop_retired();

  // True if the instance goes on.
  Task<bool> execute_while_ready();
  void execute_while_away();
  void execute_while_quiesced();
  void refuse_while_stuck();
  void begin_restart();
  Status mark_quiesced();
  Status unmark_quiesced();
  Task<void> quiesce_instance();
  Task<Status> free_hardware(Instant deadline);
  void respond(Status outcome);

  DeadlineConfig deadlines_;
  const Loader loader_;
  asio::io_context& core_;
  Clock& clock_;
  QuiesceMarks& marks_;
  const Listener listener_;

  Lifecycle life_;
  std::shared_ptr<Module> module_;
  // The instance that was replaced, until its successor has reconciled the claims.
  struct Fallback {
    std::shared_ptr<Module> module;
    bool lost = false;
  };
  std::optional<Fallback> fallback_;
  std::vector<std::shared_ptr<Module>> retired_;  // out of use; they end their calls
  TaskGroup retirements_;
  std::optional<ModuleIdentity> identity_;
  ModuleBuild build_;                 // of the instance, or of one that is being loaded
  ModuleBuild last_good_build_;       // of the instance that served last; null if it runs inside the daemon
  std::optional<Error> broken_file_;  // why the instance is of the last good build
  ListedDevices devices_;
  RateLimit rescans_;
  std::optional<Instant> rescan_at_;  // when the requested one runs
  DelayedCall health_pause_;          // runs since health was told last
  bool health_changed_ = false;       // since then
  Leftovers leftovers_;
  std::optional<ModuleEnd> last_end_;
  std::optional<Order> order_;
  Wakeup wakeup_;
  OneShot<bool> ended_;
};

}  // namespace cardcage
