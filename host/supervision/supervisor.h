// Keeps one configured module running: loads and starts it, lists its devices, starts it again after a failure,
// replaces it when its file or configuration changes, and takes it off its hardware while an operator wants that.
//
// [core] The only owner of a module's instance. The devices of a module that is away stay listed, with health unknown
// and the reason. Lifecycle holds the module's state; the coroutines here load, start and stop it. Each of the other
// duties is an object of its own.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/core/rate_limit.h"
#include "host/supervision/health_checks.h"

namespace cardcage {

class Supervisor {
 public:
  using Listener = SupervisorListener;
  using Loader = Instances::Loader;

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
  void stuck_changed() { care_.stuck_changed(); }
  // Executes an operator's command, one at a time. A failed quiesce changes nothing; a resume or restart that does not
  // end within its limit continues.
  Task<Status> execute(ModuleCommand command) { return commands_.execute(std::move(command)); }
  // Executes an operator's command for one device. Returns the outcome, for people.
  Task<Result<std::string>> execute(DeviceCommand command) { return care_.execute(std::move(command)); }

  // Returns the configuration of the instance, except for rules, which are the newest.
  const ModuleConfig& config() const { return module_.life.config(); }
  // Returns the file of the running or loading instance; relative as in the configuration before it is found.
  const std::filesystem::path& file() const { return module_.build ? module_.build->path : config().path; }
  // Returns the wanted configuration. Differs from config() while a new configuration is tried, and after it was
  // refused.
  const ModuleConfig& wanted() const { return module_.life.target().wanted(); }
  // Explains why the wanted configuration or file does not run; nothing while it runs or is tried.
  std::optional<Error> refused() const {
    const auto refused = module_.life.refused();
    return refused ? refused : care_.rules_refused();
  }
  // Returns false while something is refused, and after a failed start.
  bool runs_as_wanted() const { return module_.life.runs_as_wanted() && !care_.rules_refused(); }
  // Explains why the configured health rules are not in force; nothing if they are.
  const std::optional<Error>& rules_refused() const { return care_.rules_refused(); }
  // Returns true while a start, a new file or a new configuration may still succeed or fail.
  bool undecided() const { return module_.life.undecided(); }
  // Returns the reason for draining; empty if the module does not drain.
  const std::string& draining() const { return module_.life.draining(); }
  ModuleState state() const { return module_.life.state(); }
  // Returns the running instance, or the reason why there is none.
  Result<std::shared_ptr<Module>> module() const { return module_.usable(); }
  // Does the same, but a quiesced module that keeps its instance may be called to release claims [R12].
  Result<std::shared_ptr<Module>> module_for_release() const;
  // Returns "it is quiesced by alice…": why this device is withheld from all users, because of an operator or a reset;
  // empty if it is not.
  std::string why_withheld(const Device& device) const { return devices_.why_withheld(device); }
  // Returns true if no instance runs now, but one may by then without an operator.
  bool returns_by(Instant when) const { return module_.life.returns_by(when); }
  // Returns the time since which no instance runs, if one ran before and the next may come without an operator.
  std::optional<Instant> away_since() const { return module_.life.away_since(); }
  // Returns the identity of the newest instance; nothing before the first successful load.
  const std::optional<ModuleIdentity>& identity() const { return module_.identity; }
  // Returns the last good list, also while the module is away; null before the first.
  const SnapshotPtr& snapshot() const { return devices_.snapshot(); }
  // Returns the node labels that the module requests, also while it is away.
  const NodeLabels& labels() const { return labels_.labels(); }
  // Returns false until the module has reported labels, or has started without any.
  bool labels_known() const { return labels_.known(); }
  // Returns true while the module's labels must still be collected, at its start or after a discover.
  bool labels_pending() const { return !settled() || (labels_.due() && state() == ModuleState::kReady); }
  // Returns true once the first start has ended, successful or not: the device list is as good as it gets.
  bool settled() const { return module_.life.settled(); }
  // Returns the device's health. Includes the causes that the host itself adds.
  DeviceHealth health(const Device& device) const { return devices_.health(device); }
  // Does the same without the cause of a module that is away.
  DeviceHealth reported_health(const Device& device) const { return devices_.reported_health(device); }
  const ModuleHealth& device_health() const { return devices_.statements(); }
  std::optional<Error> last_error() const { return module_.life.last_error(); }
  // Explains the module's state, for people; may be empty.
  std::string detail() const;
  // Returns the problem that needs an operator's attention; empty if there is none.
  std::string warning() const;
  const std::optional<ModuleEnd>& last_end() const { return last_end_; }
  // Returns the lines of the running instance.
  std::vector<SaidLine> last_lines() const {
    return module_.instance ? module_.instance->last_lines() : std::vector<SaidLine>();
  }
  int restarts() const { return module_.life.restarts(); }
  std::size_t recent_failures() const { return module_.life.restart_policy().recent_failures(module_.clock.now()); }
  std::chrono::system_clock::time_point since() const { return module_.life.since(); }

 private:
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
  Task<Status> discover_and_reconcile();
  Task<void> serve();
  // Returns Instant::max() without a request.
  Instant rescan_due();
  Task<void> rescan();
  Task<void> back_off(Instant begun);
  void record_end();

  SupervisedModule module_;
  ModuleDevices devices_;
  DeviceCare care_;
  LabelCollector labels_;
  Instances instances_;
  Replacement replacement_;
  ModuleCommands commands_;
  HealthChecks checks_;
  RateLimit rescans_;
  std::optional<ModuleEnd> last_end_;
  OneShot<bool> ended_;
};

}  // namespace cardcage
