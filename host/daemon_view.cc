// The daemon as the admin API sees it.
#include <ranges>

#include "host/apiserver/embedded_node.h"
#include "host/core/file.h"
#include "host/daemon.h"

namespace cardcage {
namespace {

Condition condition_of(const Supervisor& supervisor) {
  const std::string why = supervisor.last_error() ? supervisor.last_error()->message : "";
  switch (supervisor.state()) {
    case ModuleState::kStarting: return {"starting", why};
    case ModuleState::kReady: return {"running", why};
    case ModuleState::kBackingOff: return {"failed", why};
    case ModuleState::kStopped: return {"stopped", why};
  }
  return {"unknown", why};
}

ClaimReport report_of(const ClaimRecord& record) {
  ClaimReport report{.ref = record.ref,
                     .driver = record.driver,
                     .module = {},
                     .state = std::string(to_string(record.phase)),
                     .prepared = record.prepared,
                     .devices = {}};
  for (const ModulePart& part : record.parts) {
    report.module += (report.module.empty() ? "" : ", ") + part.module;
    for (const HeldDevice& held : part.devices) {
      report.devices.push_back({held.allocation.request, held.allocation.pool, held.allocation.device, {}});
    }
  }
  for (const PreparedDevice& prepared : prepared_devices(record)) {
    for (auto& device : report.devices) {
      if (device.pool == prepared.pool && device.device == prepared.device)
        device.cdi_device_ids = prepared.cdi_device_ids;
    }
  }
  return report;
}

Condition publication_of(const PublisherStatus& status) {
  for (const auto& [pool, about] : status.pools) {
    if (!about.rejection.empty()) return {"failing", about.rejection};
  }
  if (!status.last_error.empty()) return {"failing", status.last_error};
  return {status.in_sync ? "published" : "pending", ""};
}

Condition ledger_condition(const Ledger& ledger) {
  if (ledger.last_error()) return {"failing", ledger.last_error()->message};
  return {ledger.rebuilt() ? "rebuilt" : "ok", ""};
}

}  // namespace

DriverReport Daemon::report(const Driver& driver) const {
  DriverReport report{.name = driver.name()};
  for (const ModuleConfig& module : config_.modules) {
    if (std::ranges::none_of(module.serve, [&](const ServeConfig& rule) { return rule.driver == driver.name(); }))
      continue;
    report.module += (report.module.empty() ? "" : ", ") + module.name;
  }
  if (const auto server = driver.server_status()) {
    report.socket = server->sockets.service;
    const RegistrationView& registration = server->registration;
    report.registration = {std::string(to_string(registration.state)), registration.error};
  } else {
    report.registration = {
        "waiting", driver.server_error() ? driver.server_error()->message : "its modules have listed no device yet"};
  }
  const PublisherStatus& published = driver.publisher_status();
  report.publication = publication_of(published);
  for (const auto& [pool, status] : published.pools) {
    report.pool += (report.pool.empty() ? "" : ", ") + pool;
    report.generation = std::max(report.generation, status.generation);
    report.slices += static_cast<std::uint32_t>(status.slices);
    report.devices += static_cast<std::uint32_t>(status.devices);
  }
  return report;
}

StatusReport Daemon::status() const {
  StatusReport report{
      .node = config_.node.name, .started = started_, .uptime = clock_.now() - begun_, .config_file = config_file_};
  report.api_server = api_server_condition();
  report.ledger = ledger_condition(*ledger_);
  report.config_sha256 = config_sha256_;
  report.live_claims = ledger_->claims().size();
  for (const auto& driver : drivers_ | std::views::values) report.drivers.push_back(this->report(*driver));
  return report;
}

std::vector<ModuleReport> Daemon::modules() const {
  std::vector<ModuleReport> reports;
  for (const auto& supervisor : supervisors_) {
    const ModuleConfig& config = supervisor->config();
    ModuleReport report{
        .name = config.name,
        .path = config_.node.modules_dir / config.path,
        .isolation = config.isolation,
        .state = condition_of(*supervisor),
        .devices = supervisor->snapshot() ? static_cast<std::uint32_t>(supervisor->snapshot()->devices.size()) : 0,
        .restarts = static_cast<std::uint32_t>(supervisor->restarts())};
    if (supervisor->identity()) report.identity = std::make_shared<const ModuleIdentity>(*supervisor->identity());
    reports.push_back(std::move(report));
  }
  return reports;
}

std::vector<DeviceReport> Daemon::devices() const {
  std::vector<DeviceReport> reports;
  for (const ServedDevice* served : table_.devices()) {
    DeviceReport report{.module = served->supervisor->config().name,
                        .device = served->device,
                        .driver = served->driver,
                        .pool = served->pool,
                        .holders = {}};
    report.device.health = served->supervisor->health(served->device).health;
    for (const auto& record : ledger_->holders(report.module, served->device.id, served->driver, served->device.name))
      report.holders.push_back(record->ref);
    reports.push_back(std::move(report));
  }
  return reports;
}

// Its drivers talk to it all the time, so their publishers know how it is.
Condition Daemon::api_server_condition() const {
  if (!config_.node.claims_folder.empty()) return {"embedded", config_.node.claims_folder.native()};
  Condition condition{"waiting", "nothing is published yet"};
  for (const auto& driver : drivers_ | std::views::values) {
    const PublisherStatus& published = driver->publisher_status();
    if (!published.last_error.empty()) return {"unreachable", published.last_error};
    if (published.last_success) condition = {"connected", ""};
  }
  return condition;
}

Task<Result<std::vector<ClaimReport>>> Daemon::claims() {
  std::vector<ClaimReport> reports;
  for (const auto& record : ledger_->claims() | std::views::values) reports.push_back(report_of(*record));
  co_return reports;
}

Task<Result<std::vector<HistoryReport>>> Daemon::history(HistoryFilter filter) {
  const HistoryQuery query{.claim = filter.claim,
                           .driver = filter.driver,
                           .device = filter.device,
                           .since = filter.since,
                           .limit = filter.limit};
  auto entries = co_await ledger_->history(query);
  if (!entries) co_return std::unexpected(entries.error());
  std::vector<HistoryReport> reports;
  for (const HistoryEntry& entry : *entries) {
    reports.push_back({{.ref = entry.ref,
                        .driver = entry.driver,
                        .module = entry.module,
                        .state = "released",
                        .prepared = entry.prepared,
                        .devices = {{entry.request, entry.pool, entry.device, {}}}},
                       entry.released,
                       "unprepared"});
  }
  co_return reports;
}

}  // namespace cardcage
