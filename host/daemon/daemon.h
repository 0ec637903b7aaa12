// The daemon: its parts, the order in which they start, and the order in which they stop.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "host/apiserver/event_recorder.h"
#include "host/daemon/claim_duties.h"
#include "host/daemon/module_access.h"
#include "host/daemon/node_serving.h"
#include "host/daemon/operators.h"
#include "host/daemon/run_files.h"

namespace cardcage {

// [core], except create() and run().
class Daemon {
 public:
  // Fails on any problem that can be known before serving: folders, ledger, credentials.
  // Only tests pass a fault or a pace.
  static Result<std::unique_ptr<Daemon>> create(Config config, std::filesystem::path config_file,
                                                Restarts restarts = {}, FaultHook fault = {},
                                                OrphanPace orphan_pace = {});
  Daemon(std::unique_ptr<Foundation> foundation, std::filesystem::path config_file, Restarts restarts,
         OrphanPace orphan_pace);
  // Runs the core on the calling thread until SIGTERM or SIGINT.
  void run();

 private:
  Supervisors::Environment supervisors_environment();
  PodEntry::Parts pod_entry_parts();
  OperatorView::Parts view_parts();
  void apply(Config wanted, const ConfigPlan& plan);
  void serve(const ConfigPlan& plan);
  Task<void> tidy();
  Task<void> reload_on_signal();
  void changed(const Supervisor& supervisor, SupervisorEvent event);
  void partition_changed(const std::string& module);
  void note(const HealthEvent& event);
  std::vector<Status> restore_files();
  void update_labels();
  Task<void> stop_on_signal();
  Task<void> shut_down();

  const std::unique_ptr<Foundation> base_;
  Config& config_;
  Clock& clock_;
  asio::io_context& core_;
  const Restarts restarts_;
  const std::chrono::system_clock::time_point started_ = clock_.wall();
  const Instant begun_ = clock_.now();
  asio::signal_set reload_signals_{core_, SIGHUP};
  LiveConfig live_config_;
  DelayedCall started_up_{core_, clock_};
  DeviceTable table_;
  ModuleAccess access_;
  FeatureFile features_;
  EventRecorder node_events_;
  Supervisors supervisors_;
  MetricsCounters counters_;
  PodEntry pod_entry_;
  ClaimDuties duties_;
  NodeServing serving_;
  Wakeup tidy_{core_};
  TaskGroup loops_{core_};  // loops that run until stopping_
  bool stopping_ = false;
  bool modules_end_ = false;  // modules are stopping; their news must not reach the kubelet
  Operators operators_;
  RunFiles run_files_;
};

}  // namespace cardcage
