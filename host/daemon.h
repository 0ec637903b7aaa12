// The daemon: what it consists of, the order in which it starts, and the order in which it stops.
#pragma once

#include <boost/asio/signal_set.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/admin/admin_server.h"
#include "host/cdi/writer.h"
#include "host/config/config.h"
#include "host/core/unique_fd.h"
#include "host/device_table.h"
#include "host/driver.h"
#include "host/kubelet/pod_reconciler.h"
#include "host/metrics/endpoint.h"
#include "host/module/module_files.h"
#include "host/module/supervisor.h"
#include "host/resources.h"

namespace cardcage {

// [core] All of it, but create() and run().
class Daemon final : public DaemonView {
 public:
  // Everything that can be refused is refused here, before anything is served: folders, ledger, credentials.
  static Result<std::unique_ptr<Daemon>> create(Config config, std::filesystem::path config_file);
  // The calling thread is the core until SIGTERM or SIGINT.
  void run();

  StatusReport status() const override;
  std::vector<ModuleReport> modules() const override;
  std::vector<DeviceReport> devices() const override;
  std::vector<std::shared_ptr<const ClaimRecord>> claims() const override;
  Task<Result<std::vector<HistoryEntry>>> history(HistoryQuery query) override;
  Task<Result<Condition>> command(ModuleCommand command) override;

 private:
  Daemon(Config config, std::filesystem::path config_file);
  Status open();
  Status open_cluster();
  Status open_ledger();
  Result<std::unique_ptr<Ledger>> take_ledger();
  void add_modules();
  void add_drivers();
  void add_resources();
  Task<void> follow_pods();
  Condition pod_resources_condition() const;
  void open_metrics();
  HttpPage page(const std::string& path) const;
  void changed(const Supervisor& supervisor);
  DriverReport report(const Driver& driver) const;
  Condition api_server_condition() const;
  Task<void> stop_on_signal();
  Task<void> shut_down();

  const Config config_;
  const std::filesystem::path config_file_;
  const std::string config_sha256_;
  asio::io_context core_{1};
  SystemClock clock_;
  const std::chrono::system_clock::time_point started_ = clock_.wall();
  const Instant begun_ = clock_.now();
  asio::signal_set signals_{core_, SIGTERM, SIGINT};

  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Ledger> ledger_;
  const CdiWriter cdi_;
  DeviceTable table_;
  std::unique_ptr<QuiesceMarks> quiesced_;
  std::vector<std::unique_ptr<Supervisor>> supervisors_;  // in the order of the configuration
  ModuleFiles module_files_{core_, clock_, config_.node.modules_dir};
  Metrics metrics_;
  std::map<std::string, std::unique_ptr<Driver>> drivers_;
  ClientSlot<KubeletClients> kubelet_;
  std::unique_ptr<Resources> resources_;
  std::unique_ptr<PodReconciler> pods_;
  OneShot<bool> pods_ended_{core_};
  std::unique_ptr<AdminServer> admin_;
  std::unique_ptr<HttpEndpoint> endpoint_;
};

}  // namespace cardcage
