#include "host/metrics/metrics.h"

#include <prometheus/histogram.h>
#include <prometheus/text_serializer.h>

#include <deque>

#include "host/core/version.h"

namespace cardcage {
namespace {

using prometheus::MetricFamily, prometheus::MetricType;
using Labels = std::vector<prometheus::ClientMetric::Label>;

// From an Allocate of a quick module to a prepare that meets its deadline.
const prometheus::Histogram::BucketBoundaries kSeconds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                                          0.05,   0.1,     0.5,    1,     5,      10,    40};

std::string_view word(KubeletCall call) {
  switch (call) {
    case KubeletCall::kPrepare: return "prepare";
    case KubeletCall::kUnprepare: return "unprepare";
    case KubeletCall::kAllocate: return "allocate";
    case KubeletCall::kPreStart: return "pre_start";
  }
  return "unknown";
}

class Page {
 public:
  MetricFamily& family(std::string name, std::string help, MetricType type = MetricType::Gauge) {
    return families_.emplace_back(MetricFamily{std::move(name), std::move(help), type, {}});
  }
  static void add(MetricFamily& family, Labels labels, double value) {
    prometheus::ClientMetric& metric = family.metric.emplace_back();
    metric.label = std::move(labels);
    (family.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  }
  std::string text(std::vector<MetricFamily> counted) {
    for (MetricFamily& family : counted) families_.push_back(std::move(family));
    std::erase_if(families_, [](const MetricFamily& family) { return family.metric.empty(); });
    return prometheus::TextSerializer().Serialize({families_.begin(), families_.end()});
  }

 private:
  std::deque<MetricFamily> families_;  // family() gives references
};

void add_modules(Page& page, const std::vector<ModuleReport>& modules) {
  auto& state = page.family("cardcage_module_state", "1 for the state that the module is in");
  auto& devices = page.family("cardcage_module_devices", "devices that the module lists");
  auto& restarts = page.family("cardcage_module_restarts_total", "restarts of the module", MetricType::Counter);
  auto& failures = page.family("cardcage_module_recent_failures", "failures that may make the module broken");
  for (const ModuleReport& module : modules) {
    Page::add(failures, {{"module", module.name}}, module.recent_failures);
    Page::add(state, {{"module", module.name}, {"state", module.state.state}}, 1);
    Page::add(devices, {{"module", module.name}}, module.devices);
    Page::add(restarts, {{"module", module.name}}, module.restarts);
  }
}

std::string_view word(HealthState state) {
  return state == HealthState::kHealthy ? "healthy" : state == HealthState::kUnhealthy ? "unhealthy" : "unknown";
}

void add_devices(Page& page, const std::vector<DeviceReport>& devices) {
  auto& health = page.family("cardcage_device_health", "1 for the health that the device has");
  auto& held = page.family("cardcage_device_held", "1 for each claim or pod that has the device");
  for (const DeviceReport& report : devices) {
    const Labels device = {{"module", report.module},
                           {"device", report.device.name},
                           {"id", report.device.id},
                           {"served_by", report.driver}};
    Labels labels = device;
    labels.push_back({"state", std::string(word(report.device.health.state))});
    labels.push_back({"reason", report.device.health.reason});
    Page::add(health, std::move(labels), 1);
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

void add_config(Page& page, const ConfigState& config) {
  Page::add(page.family("cardcage_config_reloads_total", "configuration files that were applied", MetricType::Counter),
            {}, static_cast<double>(config.reloads));
  Page::add(page.family("cardcage_config_reload_failures_total", "configuration files that were refused",
                        MetricType::Counter),
            {}, static_cast<double>(config.failures));
  Page::add(page.family("cardcage_config_ok", "0 while the configuration file is refused"), {}, config.errors.empty());
  Page::add(page.family("cardcage_config_restart_needed", "keys whose change waits for a restart of the daemon"), {},
            static_cast<double>(config.restart.size()));
  Page::add(page.family("cardcage_config_last_success_timestamp_seconds",
                        "when the configuration file was last found good, in Unix seconds"),
            {}, std::chrono::duration<double>(config.applied.time_since_epoch()).count());
}

void add_status(Page& page, const StatusReport& status) {
  Page::add(page.family("cardcage_build_info", "1, with the version as a label"), {{"version", std::string(version())}},
            1);
  Page::add(page.family("cardcage_start_time_seconds", "when the daemon started, in Unix seconds"), {},
            std::chrono::duration<double>(status.started.time_since_epoch()).count());
  add_config(page, status.config);
  Page::add(page.family("cardcage_claims", "claims prepared and devices handed out"), {},
            static_cast<double>(status.live_claims));
  Page::add(page.family("cardcage_ledger_ok", "0 while the ledger cannot be written"), {},
            status.ledger.state != "failing");
  Page::add(page.family("cardcage_api_server_ok", "0 while the API server does not answer"), {},
            status.api_server.state != "unreachable");
  auto& registered = page.family("cardcage_registered", "1 if the kubelet has the driver or resource");
  for (const DriverReport& driver : status.drivers)
    Page::add(registered, {{"name", driver.name}, {"api", "dra"}}, driver.registration.state == "registered");
  auto& devices = page.family("cardcage_resource_devices", "ids on the list of the resource, with replicas");
  for (const ResourceReport& resource : status.resources) {
    Page::add(registered, {{"name", resource.name}, {"api", "device-plugin"}},
              resource.registration.state == "registered");
    Page::add(devices, {{"resource", resource.name}, {"state", "healthy"}}, resource.healthy);
    Page::add(devices, {{"resource", resource.name}, {"state", "unhealthy"}}, resource.devices - resource.healthy);
    Page::add(devices, {{"resource", resource.name}, {"state", "handed_out"}}, resource.handed_out);
  }
}

}  // namespace

Metrics::Metrics()
    : calls_(prometheus::BuildHistogram()
                 .Name("cardcage_call_seconds")
                 .Help("how long the kubelet waited for an answer, per claim or container")
                 .Register(registry_)) {}

void Metrics::answered(KubeletCall call, const std::string& name, Code code, Duration took) {
  calls_.Add({{"call", std::string(word(call))}, {"name", name}, {"code", std::string(to_string(code))}}, kSeconds)
      .Observe(std::chrono::duration<double>(took).count());
}

std::string Metrics::page(const DaemonView& daemon) const {
  Page page;
  add_status(page, daemon.status());
  add_modules(page, daemon.modules());
  add_devices(page, daemon.devices());
  return page.text(registry_.Collect());
}

}  // namespace cardcage
