// The daemon as the admin API sees it.
#include <algorithm>
#include <ranges>

#include "host/daemon.h"
#include "host/module/options.h"

namespace cardcage {
namespace {

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
        .state = {to_string(supervisor->state()), supervisor->last_error() ? supervisor->last_error()->message : ""},
        .devices = supervisor->snapshot() ? static_cast<std::uint32_t>(supervisor->snapshot()->devices.size()) : 0,
        .restarts = static_cast<std::uint32_t>(supervisor->restarts())};
    report.identity = supervisor->identity();
    if (report.identity) report.options = check_options(config, report.identity->options).value_or(OptionValues{});
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

std::vector<std::shared_ptr<const ClaimRecord>> Daemon::claims() const {
  const auto records = ledger_->claims() | std::views::values;
  return {records.begin(), records.end()};
}

Task<Result<std::vector<HistoryEntry>>> Daemon::history(HistoryQuery query) {
  return ledger_->history(std::move(query));
}

}  // namespace cardcage
