// Keeps one configured module running: loads and starts it, lists its devices, starts it again after a failure,
// replaces it when its file or configuration changes, and takes it off its hardware while an operator wants that.
//
// [core] The only owner of a module's instance. The devices of a module that is away stay listed, with health unknown
// and the reason. Lifecycle holds the module's state; the coroutines here load, start, call and stop it.
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
  // `left` gets the leftover of a failed attempt.
  struct Loader {
    // Copies and checks the module's file without running any of it.
    std::function<Task<Result<ModuleBuild>>(const ModuleConfig&, Instant deadline, Leftover& left)> stage;
    std::function<Task<Result<std::shared_ptr<Module>>>(const ModuleConfig&, ModuleBuild, Instant deadline,
                                                        Leftover& left)>
        load;
  };
  struct Listener {
    // A first or different snapshot, the health of a device, or the state of the module.
    std::function<void(const Supervisor&)> changed;
    // The claims that a module may keep. An instance gets them after its first discover, before other calls.
    std::function<std::vector<ModuleClaim>(const std::string& module)> live_claims;
    FaultHook fault = {};
    EventSources* sources = nullptr;  // events for modules; outlives the supervisor. Null = no events
    // Returns the host's own cause of a device's health while an access holds its hardware; nothing otherwise.
    std::function<std::optional<CauseHealth>(const std::string& module, const std::string& device_id)> stuck = {};
    // Names the claim with another device that had this one's name before; empty if none does.
    std::function<std::string(const std::string& module, const Device& device)> replaced = {};
    // Called for each event in the health of a device.
    std::function<void(const HealthEvent&)> health_event = [](const HealthEvent&) {};
    // Names the holder of the device or of one of its partitions, for people: "claim 'default/train'"; empty if it has
    // none.
    std::function<std::string(const Supervisor&, const Device&)> holders = [](const Supervisor&, const Device&) {
      return std::string();
    };
  };

  // `records` keep the health of its devices; they outlive the supervisor.
  Supervisor(ModuleConfig config, DeadlineConfig deadlines, Loader loader, asio::io_context& core, Clock& clock,
             QuiesceMarks& marks, HealthStore& records, Listener listener);

  // Runs until stop().
  Task<void> run();
  // Ends run(), which stops and drops the instance. Idempotent.
  Task<void> stop();

  // The module's file may have changed: starts it beside the running instance, which it replaces once it has listed its
  // devices; if that fails, the running instance continues. A module that is away is tried again at once.
  void renew();
  // Sets the configuration. Rules and deadlines take effect at once; settings that an instance sees need a new one,
  // which replaces the old one like a new file. Idempotent.
  void configure(ModuleConfig config, DeadlineConfig deadlines);
  // Removes the module once its devices have no holders; `why` is for people, and an empty one cancels it. The module
  // serves its prepared claims until then, but its devices are not offered any more.
  void drain(std::string why);
  // The last holder of a device is gone: stops the instance of a module that drains. renew() starts it again.
  void end_drained();
  // Called when the result of Listener::stuck has changed for a device.
  void stuck_changed() { states_told_.request(); }
  // Executes an operator's command, one at a time. A failed quiesce changes nothing; a resume or restart that does not
  // end within its limit continues.
  Task<Status> execute(ModuleCommand command);
  // Executes an operator's command for one device. Returns the outcome, for people.
  Task<Result<std::string>> execute(DeviceCommand command);

  // Returns the configuration of the instance, except for rules, which are the newest.
  const ModuleConfig& config() const { return life_.config(); }
  std::string subject() const { return fmt::format("module '{}'", config().name); }  // for errors
  // Returns the file of the running or loading instance; relative as in the configuration before it is found.
  const std::filesystem::path& file() const { return build_ ? build_->path : config().path; }
  // Returns the wanted configuration. Differs from config() while a new configuration is tried, and after it was
  // refused.
  const ModuleConfig& wanted() const { return life_.target().wanted(); }
  // Explains why the wanted configuration or file does not run; nothing while it runs or is tried.
  std::optional<Error> refused() const {
    const auto refused = life_.refused();
    return refused ? refused : rules_refused_;
  }
  // Returns false while something is refused, and after a failed start.
  bool runs_as_wanted() const { return life_.runs_as_wanted() && !rules_refused_; }
  // Explains why the configured health rules are not in force; nothing if they are.
  const std::optional<Error>& rules_refused() const { return rules_refused_; }
  // Returns true while a start, a new file or a new configuration may still succeed or fail.
  bool undecided() const { return life_.undecided(); }
  // Returns the reason for draining; empty if the module does not drain.
  const std::string& draining() const { return life_.draining(); }
  ModuleState state() const { return life_.state(); }
  // Returns the running instance, or the reason why there is none.
  Result<std::shared_ptr<Module>> module() const;
  // Does the same, but a quiesced module that keeps its instance may be called to release claims [R12].
  Result<std::shared_ptr<Module>> module_for_release() const;
  // Returns "it is quiesced by alice…": why this device is withheld from all users, because of an operator or a reset;
  // empty if it is not.
  std::string why_withheld(const Device& device) const;
  // Returns true if no instance runs now, but one may by then without an operator.
  bool returns_by(Instant when) const { return life_.returns_by(when); }
  // Returns the time since which no instance runs, if one ran before and the next may come without an operator.
  std::optional<Instant> away_since() const { return life_.away_since(); }
  // Returns the identity of the newest instance; nothing before the first successful load.
  const std::optional<ModuleIdentity>& identity() const { return identity_; }
  // Returns the last good list, also while the module is away; null before the first.
  const SnapshotPtr& snapshot() const { return devices_.snapshot(); }
  // Returns the node labels that the module requests, also while it is away.
  const NodeLabels& labels() const { return labels_; }
  // Returns false until the module has reported labels, or has started without any.
  bool labels_known() const { return labels_known_; }
  // Returns true while the module's labels must still be collected, at its start or after a discover.
  bool labels_pending() const { return !settled() || (labels_due_ && state() == ModuleState::kReady); }
  // Returns true once the first start has ended, successful or not: the device list is as good as it gets.
  bool settled() const { return life_.settled(); }
  // Returns the device's health. Includes the causes that the host itself adds.
  DeviceHealth health(const Device& device) const;
  // Does the same without the cause of a module that is away.
  DeviceHealth reported_health(const Device& device) const;
  const ModuleHealth& device_health() const { return health_; }
  std::optional<Error> last_error() const { return life_.last_error(); }
  // Explains the module's state, for people; may be empty.
  std::string detail() const;
  // Returns the problem that needs an operator's attention; empty if there is none.
  std::string warning() const;
  const std::optional<ModuleEnd>& last_end() const { return last_end_; }
  // Returns the lines of the running instance.
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
  // Fails if the build has another module id than the last one that served, or than the one that prepared a live claim.
  Status check_id(const ModuleIdentity& build) const;
  ModuleEvents events(const std::shared_ptr<Module>& instance);
  Task<Status> discover_and_reconcile();
  Task<Status> discover();
  Task<Status> reconcile();
  Task<void> serve();
  Task<void> serve_until_away();
  // Returns Instant::max() without a request.
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
  // Returns null if the instance subscribes to no events.
  InstanceEvents* events_of(const std::shared_ptr<Module>& instance) const;
  Instant events_due() const;
  Task<void> deliver_events();
  Task<void> back_off(Instant begun);
  void record_end();
  // Describes a call that takes so long that operators should know; empty if there is none.
  std::string slow_call() const;
  std::string left_out() const;
  Task<void> release();
  Task<void> stop_instance(std::shared_ptr<Module> instance);
  void tell(const ListedDevices::Changes& changes);

  Task<void> try_replacement();
  Task<bool> try_options(ModuleConfig tried);
  Task<Result<SnapshotPtr>> try_out(std::shared_ptr<Module> next);
  void refuse(const Error& error);
  // Returns true if the new instance stays.
  Task<bool> take_over(std::shared_ptr<Module> next, SnapshotPtr devices);
  void log_take_over(const ModuleIdentity& next) const;
  void go_back(std::shared_ptr<Module> old, SnapshotPtr devices, ModuleConfig before, const Error& why);
  void retire(std::shared_ptr<Module> instance);
  Task<void> stop_when_idle(std::shared_ptr<Module> instance);
  Task<void> stop_retired();

  // Returns true if the instance continues.
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
  // Repeats the quiesce of devices for an instance that is new or has resumed, and does not know them.
  Task<void> repeat_device_quiesces(std::shared_ptr<Module> instance);
  const QuiesceMark* quiesce_mark_of(const Device& device) const;
  // Returns the health that an operator's mark gives the device: its own mark, or that of the device that it is a part
  // of.
  std::optional<CauseHealth> health_while_quiesced(const Device& device) const;
  // Returns the host's cause while a claim has another device that had the name of this one, or of its parent.
  std::optional<CauseHealth> health_while_replaced(const Device& device) const;
  // Returns the health that a stuck access gives the device: its own access, or that of the device that it is a part
  // of.
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
  // The replaced instance, until its successor has reconciled the claims.
  struct Fallback {
    std::shared_ptr<Module> module;
    bool lost = false;
  };
  std::optional<Fallback> fallback_;
  std::vector<std::shared_ptr<Module>> retired_;                      // replaced; they end their calls
  std::map<const Module*, std::unique_ptr<InstanceEvents>> watched_;  // events of the instances that have not stopped
  TaskGroup retirements_;
  std::optional<ModuleIdentity> identity_;
  ModuleBuild build_;            // build of the running or loading instance
  ModuleBuild last_good_build_;  // build of the instance that served last; null if it runs inside the daemon
  std::string served_id_;        // id of the module that served last; empty before the first, and once it has drained
  std::optional<Error> broken_file_;  // why the instance runs the last good build
  ModuleHealth health_;
  ListedDevices devices_;
  std::optional<Error> rules_refused_;
  NodeLabels labels_;
  std::string next_checked_;  // first device of the next sweep of checks
  bool labels_due_ = false, labels_known_ = false;
  RateLimit rescans_;
  PacedCall states_told_, texts_told_;
  DelayedCall health_due_, healing_;
  Instant health_timer_ = Instant::max();  // time of health_due_
  std::string being_reset_;                // id of the device
  TaskGroup resets_;
  bool check_soon_ = false;  // set after a reset
  Leftovers leftovers_;
  std::optional<ModuleEnd> last_end_;
  std::optional<Order> order_;
  Wakeup wakeup_;
  OneShot<bool> ended_;
};

}  // namespace cardcage
