// The view of the running daemon, and the commands of operators.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/access/stuck_devices.h"
#include "host/claim/claim_reader.h"
#include "host/claim/claim_statuses.h"
#include "host/config/live_config.h"
#include "host/events/event_sources.h"
#include "host/labels/feature_file.h"
#include "host/ledger/ledger.h"
#include "host/nri/nri_plugin.h"
#include "host/pods/pod_reconciler.h"
#include "host/pods/pods_watch.h"
#include "host/sandbox/hook_file.h"
#include "host/services/services.h"
#include "host/serving/device_table.h"
#include "host/serving/resources.h"
#include "host/supervision/supervisors.h"
#include "host/view/daemon_view.h"

namespace cardcage {

// [core]
class OperatorView final : public DaemonView {
 public:
  // All references outlive the core's work.
  struct Parts {
    asio::io_context& core;
    Clock& clock;
    const Config& config;  // the configuration in effect
    const Restarts& restarts;
    WallTime started;
    Instant begun;
    const bool& stopping;
    LiveConfig& live_config;
    Ledger& ledger;
    const ClaimReader& claims;
    const ClaimStatuses& claim_statuses;
    const DeviceTable& table;
    StuckDevices& stuck;
    Services& services;
    Supervisors& supervisors;
    Drivers& drivers;
    Resources& resources;
    const PodReconciler& pods;
    const PodsWatch& pods_watch;
    const HookFile& hook_file;
    const EventSources& events;
    const FeatureFile& features;
    ChangeCounters& changes;
    const std::unique_ptr<NriPlugin>& nri;  // null until a module moves devices
    // Returns the problems that the daemon has with its own files and ports.
    std::function<std::vector<std::string>()> problems;
  };
  explicit OperatorView(Parts daemon)
      : daemon_(std::move(daemon)),
        state_disk_(
            std::make_shared<StateDisk>(daemon_.core, daemon_.clock, daemon_.config.node.state_dir, daemon_.changes)) {}

  StatusReport status() const override;
  std::vector<ModuleReport> modules() const override;
  std::vector<DeviceReport> devices() const override;
  std::vector<ClaimReport> claims() const override;
  Task<Result<ForgetReport>> forget(std::string uid, bool force) override;
  Task<Result<std::vector<HistoryEntry>>> history(HistoryQuery query) override;
  Task<Result<std::vector<CatalogueReport>>> catalogue(std::string module) override;
  Task<Result<ReloadReport>> reload(bool dry_run) override;
  Task<Result<Condition>> command(ModuleCommand command) override;
  Task<Result<std::string>> command(DeviceCommand command) override;
  Result<std::vector<HealthRulesReport>> health_rules(std::string module) const override;
  Task<Result<std::vector<HealthEvent>>> health_history(HealthQuery query) override;
  ChangeCounters& changes() override { return daemon_.changes; }

 private:
  std::vector<std::string> warnings() const;
  std::unexpected<Error> no_module(const std::string& name) const;
  Condition outcome_of(const std::string& module) const;
  Result<Supervisor*> module_of(const DeviceCommand& command) const;

  const Parts daemon_;
  const std::shared_ptr<StateDisk> state_disk_;
};

}  // namespace cardcage
