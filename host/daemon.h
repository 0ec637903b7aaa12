// The daemon: its parts, the order in which they start, and the order in which they stop.
#pragma once

#include <boost/asio/signal_set.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "host/access/writes.h"
#include "host/admin/admin_server.h"
#include "host/apiserver/event_recorder.h"
#include "host/cdi/writer.h"
#include "host/claim/cdi_keeper.h"
#include "host/core/task_group.h"
#include "host/core/unique_fd.h"
#include "host/metrics/pages.h"
#include "host/pods/orphaned_claims.h"
#include "host/process/worker_groups.h"
#include "host/rpc/client_slot.h"
#include "host/sandbox/attachments.h"
#include "host/sandbox/hook_server.h"
#include "host/sandbox/sandboxes.h"
#include "host/serving/hand_over.h"
#include "host/serving/standby.h"
#include "host/view/operator_view.h"

namespace cardcage {

// [core], except create() and run().
class Daemon final : private ClaimHost {
 public:
  // Fails on any problem that can be known before serving: folders, ledger, credentials.
  // Only tests pass a fault or a pace.
  static Result<std::unique_ptr<Daemon>> create(Config config, std::filesystem::path config_file,
                                                Restarts restarts = {}, FaultHook fault = {},
                                                OrphanPace orphan_pace = {});
  // Runs the core on the calling thread until SIGTERM or SIGINT.
  void run();

 private:
  void partition_changed(const std::string& module) override;
  Status check_services(const std::string& claim_uid) const override { return services_->check(claim_uid); }
  Task<Status> stop_services(std::string module, std::string claim_uid, Instant deadline) override {
    return services_->stop_all(std::move(module), std::move(claim_uid), deadline);
  }
  Hook sandbox_hook(const ClaimKey& claim) const override { return hook_file_->sandbox_hook(claim.driver, claim.uid); }
  void make_hooks(Edits& edits) const override { hook_file_->make_hooks(edits); }
  Task<Status> hooks_ready(Instant deadline) override { return hook_file_->ready(deadline); }
  void before_release(const ClaimKey& claim) override { attachments_.remove_all(claim.driver, claim.uid); }

  Daemon(Config config, std::filesystem::path config_file, Restarts restarts, FaultHook fault, OrphanPace orphan_pace);
  Status open();
  Status open_cluster();
  Status open_ledger();
  void stand_by();
  Result<std::unique_ptr<Ledger>> wait_for_ledger();
  void open_records();
  void adopt_services();
  // Judges by the configuration that is in effect.
  Services::Judge judge_of_services() const;
  Supervisors::Environment supervisors_environment();
  void create_pods_watch();
  void create_served_names();
  void create_orphan_search();
  void create_view();
  Status open_sandboxes();
  void remove_left_sockets() const;
  void close_standby();
  void listen_to_runtime(const Supervisor& supervisor);
  Task<void> reconcile_pods();
  Task<void> refit(std::vector<ClaimKey> claims);
  Task<void> keep_run_files();
  void apply(Config wanted, const ConfigPlan& plan);
  void serve(const ConfigPlan& plan);
  Task<void> tidy();
  Task<void> reload_on_signal();
  void changed(const Supervisor& supervisor, SupervisorEvent event);
  void note(const HealthEvent& event);
  std::vector<std::string> problems() const;
  void update_labels();
  Task<void> stop_on_signal();
  Task<void> shut_down();

  Config config_;  // the configuration in effect
  const Restarts restarts_;
  const FaultHook fault_;
  const OrphanPace orphan_pace_;
  asio::io_context core_{1};
  SystemClock clock_;
  const std::chrono::system_clock::time_point started_ = clock_.wall();
  const Instant begun_ = clock_.now();
  asio::signal_set stop_signals_{core_, SIGTERM, SIGINT}, reload_signals_{core_, SIGHUP};
  LiveConfig live_config_;
  DelayedCall started_up_{core_, clock_};

  ChangeCounters changes_;
  HandOver hand_over_;
  Standby standby_{core_, clock_, config_};
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Ledger> ledger_;
  const CdiWriter cdi_;
  std::unique_ptr<CdiKeeper> cdi_keeper_;
  std::unique_ptr<ClaimStatuses> claim_statuses_;
  DeviceTable table_;
  const Attachments attachments_;
  std::unique_ptr<WorkerGroups> groups_;
  const std::shared_ptr<HardwareWrites> writes_ = std::make_shared<HardwareWrites>(core_, clock_);
  std::shared_ptr<Services> services_;
  std::unique_ptr<QuiesceMarks> quiesced_;
  FeatureFile features_;
  EventSources events_{core_, clock_, config_.node.roots.devfs / "kmsg"};
  std::unique_ptr<EventRecorder> node_events_;
  std::unique_ptr<Supervisors> supervisors_;
  MetricsCounters counters_;
  ClientSlot<KubeletClients> kubelet_;
  std::unique_ptr<PodsWatch> pods_watch_;
  std::unique_ptr<ClaimReader> claims_;
  std::unique_ptr<Drivers> drivers_;
  std::unique_ptr<Resources> resources_;
  std::shared_ptr<HookFile> hook_file_;
  std::unique_ptr<Sandboxes> sandboxes_;
  std::unique_ptr<HookServer> hooks_;
  std::unique_ptr<NriPlugin> nri_;  // null until a module moves devices
  std::unique_ptr<PodReconciler> pods_;
  std::unique_ptr<OrphanedClaims> orphans_;  // null without an API server
  Wakeup tidy_{core_}, pods_wanted_{core_}, run_files_changed_{core_};
  TaskGroup loops_{core_};                      // loops that run until stopping_
  std::vector<std::string> run_file_problems_;  // problems found by the last look
  bool stopping_ = false;
  bool modules_end_ = false;  // modules are stopping; their news must not reach the kubelet
  std::unique_ptr<OperatorView> view_;
  std::vector<std::unique_ptr<AdminServer>> admin_;
  std::unique_ptr<Pages> pages_;
};

}  // namespace cardcage
