// A daemon that reports what a test wrote down.
#pragma once

#include "host/admin/daemon_view.h"

namespace cardcage {

struct FakeDaemon final : DaemonView {
  StatusReport status_report;
  std::vector<ModuleReport> module_reports;
  std::vector<DeviceReport> device_reports;
  std::vector<ClaimReport> claim_reports;
  std::vector<HistoryReport> history_reports;
  Error failure;             // claims and history fail with it unless its code is kOk
  HistoryFilter last_asked;  // of history()

  StatusReport status() const override { return status_report; }
  std::vector<ModuleReport> modules() const override { return module_reports; }
  std::vector<DeviceReport> devices() const override { return device_reports; }
  Task<Result<std::vector<ClaimReport>>> claims() override;
  Task<Result<std::vector<HistoryReport>>> history(HistoryFilter filter) override;

  // A node with two modules, one of them down, three devices and two claims; the same every time.
  static FakeDaemon busy_node();

  FakeDaemon() { failure.code = Code::kOk; }
};

}  // namespace cardcage
