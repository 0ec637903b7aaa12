#include "host/metrics/metrics.h"

#include <algorithm>
#include <deque>
#include <set>

#include "host/core/version.h"
#include "host/metrics/module_series.h"
#include "host/view/device_report.h"

namespace cardcage {
namespace {

class Page {
 public:
  MetricFamily& family(std::string name, std::string help, FamilyType type = FamilyType::kGauge) {
    return families_.emplace_back(MetricFamily{std::move(name), std::move(help), type, {}});
  }
  static void add(MetricFamily& family, MetricLabels labels, double value) {
    family.samples.push_back({std::move(labels), value});
  }
  void single(std::string name, std::string help, double value, FamilyType type = FamilyType::kGauge) {
    add(family(std::move(name), std::move(help), type), {}, value);
  }
  void append(MetricFamily family) { families_.push_back(std::move(family)); }
  std::string text() const {
    std::string text;
    for (const MetricFamily& family : families_)
      if (!family.samples.empty()) append_family(text, family);
    return text;
  }

 private:
  std::deque<MetricFamily> families_;  // a deque, because family() returns references
};

double unix_seconds(WallTime time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

void add_modules(Page& page, const std::vector<ModuleReport>& modules) {
  auto& state = page.family("cardcage_module_state", "1 for the current state of the module");
  auto& devices = page.family("cardcage_module_devices", "number of devices that the module lists");
  auto& restarts =
      page.family("cardcage_module_restarts_total", "number of restarts of the module", FamilyType::kCounter);
  auto& failures =
      page.family("cardcage_module_recent_failures", "failures that count towards marking the module as broken");
  auto& config = page.family("cardcage_module_config_ok",
                             "0 while the module runs with an older configuration or file, or does not start");
  auto& services =
      page.family("cardcage_service_restarts", "restarts of each helper daemon of a claim that the module started");
  for (const ModuleReport& module : modules) {
    for (const ServiceReport& service : module.services)
      Page::add(services, {{"module", module.name}, {"uid", service.claim_uid}, {"service", service.name}},
                service.restarts);
    Page::add(config, {{"module", module.name}}, module.config_ok);
    Page::add(failures, {{"module", module.name}}, module.recent_failures);
    Page::add(state, {{"module", module.name}, {"state", module.state.reason}}, 1);
    Page::add(devices, {{"module", module.name}}, module.devices);
    Page::add(restarts, {{"module", module.name}}, module.restarts);
  }
}

// Adds the causes of the device and of its parent. If two share a name, the worse one is kept: labels must be unique.
void add_causes(MetricFamily& family, const MetricLabels& device, const std::vector<CauseHealth>& causes) {
  std::set<std::string_view> shown;
  for (const CauseHealth& cause : causes) {
    if (cause.health.state == HealthState::kHealthy || !shown.insert(cause.health.cause).second) continue;
    MetricLabels labels = device;
    labels.push_back({"cause", cause.health.cause});
    labels.push_back({"state", std::string(health_word(cause.health.state))});
    Page::add(family, std::move(labels), 1);
  }
}

void add_devices(Page& page, const std::vector<DeviceReport>& devices) {
  auto& health = page.family("cardcage_device_health", "1 for the current health of the device");
  auto& causes = page.family("cardcage_device_cause", "1 for each cause of the device's health that is not healthy");
  auto& cordoned =
      page.family("cardcage_device_cordoned", "1 for each device that an operator keeps away from new pods");
  auto& quarantined =
      page.family("cardcage_device_quarantined", "1 for each device with a cause that only an operator ends");
  auto& held = page.family("cardcage_device_held", "1 for each claim or pod that holds the device");
  for (const DeviceReport& report : devices) {
    const MetricLabels device = {{"module", report.module},
                                 {"device", report.device.name},
                                 {"id", report.device.id},
                                 {"served_by", report.driver}};
    MetricLabels labels = device;
    labels.push_back({"state", std::string(health_word(report.device.health.state))});
    labels.push_back({"reason", report.device.health.reason});
    Page::add(health, std::move(labels), 1);
    add_causes(causes, device, report.causes);
    if (report.cordon) Page::add(cordoned, device, 1);
    if (std::ranges::any_of(report.causes, &CauseHealth::quarantined)) Page::add(quarantined, device, 1);
    for (const ClaimRef& holder : report.holders) {
      labels = device;
      const bool by_pod = report.api == Api::kDevicePlugin;
      labels.push_back({"namespace", holder.name_space});
      labels.push_back({"claim", by_pod ? "" : holder.name});
      labels.push_back({"pod", by_pod ? holder.name : ""});
      labels.push_back({"uid", holder.uid});
      Page::add(held, std::move(labels), 1);
    }
  }
}

void add_config(Page& page, const StatusReport& status) {
  const ConfigState& config = status.config;
  page.single("cardcage_config_reloads_total", "number of configuration files that were applied",
              static_cast<double>(config.reloads), FamilyType::kCounter);
  page.single("cardcage_config_reload_failures_total", "number of configuration files that were refused",
              static_cast<double>(config.failures), FamilyType::kCounter);
  page.single("cardcage_config_ok",
              "0 while the configuration file has errors, or a module refuses its part or its file",
              config.errors.empty() && status.refused_by.empty());
  page.single("cardcage_config_restart_needed", "number of changed keys that need a restart of the daemon",
              static_cast<double>(config.restart.size()));
  page.single("cardcage_config_last_success_timestamp_seconds",
              "time when the configuration file was last valid, in Unix seconds", unix_seconds(config.applied));
}

void add_registrations(Page& page, const StatusReport& status) {
  auto& registered =
      page.family("cardcage_registered", "1 while the driver or resource is registered with the kubelet");
  auto& published = page.family("cardcage_published",
                                "1 while the API server has all ResourceSlices of the driver as they should be");
  auto& slices = page.family("cardcage_driver_slices", "number of ResourceSlices of the driver");
  for (const DriverReport& driver : status.drivers) {
    Page::add(registered, {{"name", driver.name}, {"api", "dra"}}, driver.registration.level == Level::kGood);
    Page::add(published, {{"name", driver.name}}, driver.publication.level == Level::kGood);
    Page::add(slices, {{"name", driver.name}}, driver.slices);
  }
  auto& devices =
      page.family("cardcage_resource_devices", "number of device ids that the resource lists, with replicas");
  for (const ResourceReport& resource : status.resources) {
    Page::add(registered, {{"name", resource.name}, {"api", "device-plugin"}},
              resource.registration.level == Level::kGood);
    Page::add(devices, {{"resource", resource.name}, {"state", "healthy"}}, resource.healthy);
    Page::add(devices, {{"resource", resource.name}, {"state", "unhealthy"}}, resource.devices - resource.healthy);
    Page::add(devices, {{"resource", resource.name}, {"state", "handed_out"}}, resource.handed_out);
  }
}

void add_status(Page& page, const StatusReport& status) {
  Page::add(page.family("cardcage_build_info", "always 1; the version is a label"),
            {{"version", std::string(version())}}, 1);
  page.single("cardcage_start_time_seconds", "start time of the daemon, in Unix seconds", unix_seconds(status.started));
  page.single("cardcage_restarts_total", "number of times that the daemon was started again after a crash",
              status.restarts.count, FamilyType::kCounter);
  if (status.restarts.count > 0)
    Page::add(page.family("cardcage_last_end", "always 1; how the run before this one ended is a label"),
              {{"reason", status.restarts.last_end}}, 1);
  add_config(page, status);
  page.single("cardcage_claims", "number of prepared claims and handed-out devices",
              static_cast<double>(status.live_claims));
  MetricFamily& reads =
      page.family("cardcage_claim_reads_total",
                  "claims that were read before the kubelet asked to prepare them, or only then", FamilyType::kCounter);
  Page::add(reads, {{"when", "early"}}, static_cast<double>(status.early_claims));
  Page::add(reads, {{"when", "late"}}, static_cast<double>(status.late_claims));
  page.single("cardcage_ledger_unwritten_changes", "changes of claims that wait for the ledger's disk",
              static_cast<double>(status.unwritten_changes));
  page.single("cardcage_ledger_ok", "0 while the ledger cannot be written", status.ledger.level != Level::kBad);
  if (const auto& disk = status.state_disk) {
    page.single("cardcage_state_dir_free_bytes", "bytes that are free for the daemon on the disk of node.state_dir",
                static_cast<double>(disk->free));
    page.single("cardcage_state_dir_used_bytes", "bytes of the files in node.state_dir",
                static_cast<double>(disk->used));
  }
  page.single("cardcage_api_server_ok", "0 while requests to the API server fail",
              status.api_server.level != Level::kBad);
  add_registrations(page, status);
}

}  // namespace

MetricsFacts metrics_facts(const DaemonView& daemon, MetricsCounters counters,
                           std::vector<CollectedMetrics> collected) {
  return {daemon.status(), daemon.modules(), daemon.devices(), std::move(counters), std::move(collected)};
}

std::string metrics_text(const MetricsFacts& facts) {
  Page page;
  add_status(page, facts.status);
  add_modules(page, facts.modules);
  add_devices(page, facts.devices);
  page.append(facts.counters.health.family());
  page.append(facts.counters.calls.family());
  return page.text() + module_series(facts.collected, facts.devices);
}

}  // namespace cardcage
