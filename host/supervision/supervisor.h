// Keeps one configured module running: loads and starts it, lists its devices, starts it again after a failure,
// replaces it when its file or configuration changes, and takes it off its hardware while an operator wants that.
//
// [core] The one owner of a module's instance. A module that is away keeps its devices listed, with health unknown and
// the reason. What is true of the module is in Lifecycle; the coroutines here load, start, call and stop it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/config/config.h"
#include "host/core/delayed_call.h"
#include "host/core/fault_point.h"
#include "host/core/paced_call.h"
#include "host/core/rate_limit.h"
#include "host/core/task_group.h"
#include "host/core/wakeup.h"
#include "host/health/module_health.h"
#include "host/loader/loader.h"
#include "host/model/module.h"
#include "host/supervision/command.h"
#include "host/supervision/instance_events.h"
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
    EventSources* sources = nullptr;  // of what modules wait for; outlives the supervisor. Null = nothing happens
    // The host's own cause of a device's health while an access holds its hardware; nothing otherwise.
    std::function<std::optional<CauseHealth>(const std::string& module, const std::string& device_id)> stuck = {};
    // Says which claim has another device that had this one's name before; empty if none does.
    std::function<std::string(const std::string& module, const Device& device)> replaced = {};
    // Something has happened to the health of a device.
    std::function<void(const HealthEvent&)> health_event = [](const HealthEvent&) {};
    // What holds the device or one of its partitions, for people: "claim 'default/train'"; empty if nothing does.
    std::function<std::string(const Supervisor&, const Device&)> holders = [](const Supervisor&, const Device&) {
      return std::string();
    };
  };

  // `records` keep what is known of the health of its devices; they outlive the supervisor.
  Supervisor(ModuleConfig config, DeadlineConfig deadlines, Loader loader, asio::io_context& core, Clock& clock,
             QuiesceMarks& marks, HealthStore& records, Listener listener);

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
  // What Listener::stuck says of a device has changed.
  void stuck_changed() { states_told_.request(); }
  // Executes what an operator asks for, one command at a time. A quiesce that fails changes nothing; a resume or
  // restart that does not end within its limit goes on.
  Task<Status> execute(ModuleCommand command);
  // Executes what an operator asks for one device. Returns what has happened, for people.
  Task<Result<std::string>> execute(DeviceCommand command);

  // What the instance runs with, but for rules, which are the newest.
  const ModuleConfig& config() const { return life_.config(); }
  std::string subject() const { return fmt::format("module '{}'", config().name); }  // of errors
  // The file of the instance, or of the one that is being loaded; relative as in the configuration before it is found.
  const std::filesystem::path& file() const { return build_ ? build_->path : config().path; }
  // Differs from config() while a new configuration is tried, and after it was refused.
  const ModuleConfig& wanted() const { return life_.target().wanted(); }
  // Why the wanted configuration or file does not run; nothing while it does, or is tried.
  std::optional<Error> refused() const {
    const auto refused = life_.refused();
    return refused ? refused : rules_refused_;
  }
  // False while something is refused, and after a start that failed.
  bool runs_as_wanted() const { return life_.runs_as_wanted() && !rules_refused_; }
  // Why the configured health rules are not in force; nothing if they are.
  const std::optional<Error>& rules_refused() const { return rules_refused_; }
  // True while a start, a new file or a new configuration may still succeed or fail.
  bool undecided() const { return life_.undecided(); }
  // Why it drains; empty if it does not.
  const std::string& draining() const { return life_.draining(); }
  ModuleState state() const { return life_.state(); }
  // The running instance, or why there is none.
  Result<std::shared_ptr<Module>> module() const;
  // The same, but a module that is quiesced and keeps its instance may be asked to release claims [R12].
  Result<std::shared_ptr<Module>> module_for_release() const;
  // "it is quiesced by alice…": why this device is kept away from everybody, because an operator wants that or it is
  // being reset; empty if it is not.
  std::string why_withheld(const Device& device) const;
  // There is none now, but there may be one by then without anybody's help.
  bool returns_by(Instant when) const { return life_.returns_by(when); }
  // Since when there is none, if there was one and another may come without anybody's help.
  std::optional<Instant> away_since() const { return life_.away_since(); }
  // Of the newest instance; nothing before the first successful load.
  const std::optional<ModuleIdentity>& identity() const { return identity_; }
  // The last good one, also while the module is away; null before the first.
  const SnapshotPtr& snapshot() const { return devices_.snapshot(); }
  // What the module wants as labels of the node, also while it is away.
  const NodeLabels& labels() const { return labels_; }
  // False until the module has told them, or has started without any.
  bool labels_known() const { return labels_known_; }
  // True while the module is still to be asked for them, at its start or after a discover.
  bool labels_pending() const { return !settled() || (labels_due_ && state() == ModuleState::kReady); }
  // True once the first start has ended, well or not: the device list is as good as it gets.
  bool settled() const { return life_.settled(); }
  // By all that is known, also that the module is away or the device is stuck.
  DeviceHealth health(const Device& device) const;
  // The same, but as if the module were not away.
  DeviceHealth reported_health(const Device& device) const;
  const ModuleHealth& device_health() const { return health_; }
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
  Task<Status> start_file(ModuleConfig config);
  Task<Status> start_build(ModuleConfig config);
  bool last_build_may_do(const ModuleConfig& config);
  Task<Result<ModuleBuild>> stage(ModuleConfig config);
  Task<Result<std::shared_ptr<Module>>> load(ModuleConfig config, ModuleBuild build);
  void keep_build(ModuleBuild build);
  // Fails if the build is of another module than the one that served last, or than the one that prepared a live claim.
  Status check_id(const ModuleIdentity& build) const;
  ModuleEvents events(const std::shared_ptr<Module>& instance);
  Task<Status> discover_and_reconcile();
  Task<Status> discover();
  Task<Status> reconcile();
  Task<void> serve();
  Task<void> serve_until_away();
  // Instant::max() while none is requested.
  Instant rescan_due();
  Task<void> rescan();
  Task<void> check_devices();
  void update_rules();
  void tell_health(HealthNews news);
  void set_health_timer();
  DeviceHealth health(const Device& device, std::optional<CauseHealth> away) const;
  bool is_being_reset(const Device& device) const;
  Result<Device> find_device(const std::string& name_or_id) const;
  Task<Result<std::string>> cordon(DeviceCommand command, Device device);
  Task<Result<std::string>> uncordon(DeviceCommand command, Device device);
  Task<Result<std::string>> reset(DeviceCommand command, Device device);
  Task<void> run_reset(DeviceCommand command, Device device, OneShot<Status> done);
  void heal_devices();
  void request_labels();
  Task<void> collect_labels();
  void watch_events(const std::shared_ptr<Module>& instance);
  // Null if it waits for nothing.
  InstanceEvents* events_of(const std::shared_ptr<Module>& instance) const;
  Instant events_due() const;
  Task<void> deliver_events();
  Task<void> back_off(Instant begun);
  void record_end();
  // What the instance has been busy with for so long that people should know; empty if there is nothing.
  std::string slow_call() const;
  std::string left_out() const;
  Task<void> release();
  Task<void> stop_instance(std::shared_ptr<Module> instance);
  void tell(const ListedDevices::Changes& changes);

  Task<void> try_replacement();
  Task<bool> try_options(ModuleConfig tried);
  Task<Result<SnapshotPtr>> try_out(std::shared_ptr<Module> next);
  void refuse(const Error& error);
  // True if the new instance stays.
  Task<bool> take_over(std::shared_ptr<Module> next, SnapshotPtr devices);
  void log_take_over(const ModuleIdentity& next) const;
  void go_back(std::shared_ptr<Module> old, SnapshotPtr devices, ModuleConfig before, const Error& why);
  void retire(std::shared_ptr<Module> instance);
  Task<void> stop_when_idle(std::shared_ptr<Module> instance);
  Task<void> stop_retired();

  // True if the instance goes on.
  Task<bool> execute_while_ready();
  Task<void> execute_while_away();
  void execute_while_quiesced();
  void refuse_while_stuck();
  void begin_restart();
  Status mark_quiesced();
  Status unmark_quiesced();
  Task<void> quiesce_instance();
  Task<Status> free_hardware(Instant deadline);
  Task<void> execute_for_device();
  Result<QuiesceMark> device_mark(const ModuleCommand& command) const;
  Task<Status> quiesce_device(QuiesceMark mark);
  Task<Status> undo_device_quiesce(QuiesceMark mark, Error why);
  Task<Status> resume_device(QuiesceMark mark);
  // A new instance, or one that resumed, does not know which devices are quiesced.
  Task<void> repeat_device_quiesces(std::shared_ptr<Module> instance);
  const QuiesceMark* quiesce_mark_of(const Device& device) const;
  // What an operator's mark makes of the device on its own, or of the one that it is a part of.
  std::optional<CauseHealth> health_while_quiesced(const Device& device) const;
  // The host's cause while a claim has another device that had the name of this one, or of its parent.
  std::optional<CauseHealth> health_while_replaced(const Device& device) const;
  // What a stuck access makes of the device on its own, or of the one that it is a part of.
  std::optional<CauseHealth> health_while_stuck(const Device& device) const;
  std::string quiesced_text(const QuiesceMark& mark) const;
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
  std::vector<std::shared_ptr<Module>> retired_;                      // out of use; they end their calls
  std::map<const Module*, std::unique_ptr<InstanceEvents>> watched_;  // of those that have not stopped
  TaskGroup retirements_;
  std::optional<ModuleIdentity> identity_;
  ModuleBuild build_;                 // of the instance, or of one that is being loaded
  ModuleBuild last_good_build_;       // of the instance that served last; null if it runs inside the daemon
  std::string served_id_;             // of the module that served last; empty before the first, and once it has drained
  std::optional<Error> broken_file_;  // why the instance is of the last good build
  ModuleHealth health_;
  ListedDevices devices_;
  std::optional<Error> rules_refused_;
  NodeLabels labels_;
  std::string next_checked_;  // the device that the next sweep of checks begins with
  bool labels_due_ = false, labels_known_ = false;
  RateLimit rescans_;
  PacedCall states_told_, texts_told_;
  DelayedCall health_due_, healing_;
  Instant health_timer_ = Instant::max();  // of health_due_
  std::string being_reset_;                // the id of the device
  TaskGroup resets_;
  bool check_soon_ = false;  // after a reset
  Leftovers leftovers_;
  std::optional<ModuleEnd> last_end_;
  std::optional<Order> order_;
  Wakeup wakeup_;
  OneShot<bool> ended_;
};

}  // namespace cardcage
