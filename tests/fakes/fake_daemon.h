// A daemon whose reports the test has prepared.
#pragma once

#include <memory>
#include <mutex>

#include "host/view/daemon_view.h"

namespace cardcage {

struct FakeDaemon final : DaemonView {
  StatusReport status_report;
  std::vector<ModuleReport> module_reports;
  std::vector<DeviceReport> device_reports;
  std::vector<std::shared_ptr<const ClaimRecord>> claim_records;
  std::vector<HistoryEntry> history_entries;
  std::vector<CatalogueReport> catalogue_reports;
  std::vector<HealthRulesReport> rules_reports;
  std::vector<HealthEvent> health_events;
  ReloadReport reload_report;
  // forget(), history(), catalogue(), reload(), command() and health_history() fail with it unless its code is kOk.
  Error failure;
  HistoryQuery last_asked;        // query of history()
  HealthQuery last_health_query;  // query of health_history()

  StatusReport status() const override { return status_report; }
  std::vector<ModuleReport> modules() const override { return module_reports; }
  std::vector<DeviceReport> devices() const override { return device_reports; }
  std::string claim_progress;                 // for every claim
  std::vector<ServiceReport> claim_services;  // for every claim
  std::vector<ClaimReport> claims() const override {
    std::vector<ClaimReport> reports;
    for (const auto& record : claim_records) reports.push_back({record, claim_progress, claim_services});
    return reports;
  }
  // Returns the claims with the UID; one problem if forced.
  Task<Result<ForgetReport>> forget(std::string uid, bool force) override;
  Task<Result<std::vector<HistoryEntry>>> history(HistoryQuery query) override;
  // Returns the bitstreams of the module; none for an unknown module.
  Task<Result<std::vector<CatalogueReport>>> catalogue(std::string module) override;
  // Returns reload_report; the steps of a dry run have no outcome.
  Task<Result<ReloadReport>> reload(bool dry_run) override;
  // Returns the condition "done".
  Task<Result<Condition>> command(ModuleCommand command) override;
  // Returns the command as text.
  Task<Result<std::string>> command(DeviceCommand command) override;
  Result<std::vector<HealthRulesReport>> health_rules(std::string module) const override;
  // Returns the events of the device and module.
  Task<Result<std::vector<HealthEvent>>> health_history(HealthQuery query) override;
  ChangeCounters change_counters;
  ChangeCounters& changes() override { return change_counters; }
  // [any-thread]
  ModuleCommand last_command() const {
    const std::lock_guard lock(last_command_->mutex);
    return last_command_->command;
  }
  // [any-thread]
  DeviceCommand last_device_command() const {
    const std::lock_guard lock(last_command_->mutex);
    return last_command_->device_command;
  }

  // A node with two modules, one of them down, three devices and two claims; the same every time.
  static FakeDaemon busy_node();
  // The same with more trouble: gpu-0 is cordoned, gpu-1 is quarantined and so is its partition, gpu-2 is degraded;
  // with rules and a history.
  static FakeDaemon sick_node();

  FakeDaemon() { failure.code = Code::kOk; }

 private:
  struct LastCommand {
    std::mutex mutex;
    ModuleCommand command;
    DeviceCommand device_command;
  };
  std::shared_ptr<LastCommand> last_command_ = std::make_shared<LastCommand>();
};

}  // namespace cardcage
