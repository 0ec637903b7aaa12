// The daemon as the admin API sees it.
#include <algorithm>
#include <ranges>

#include "host/config/options.h"
#include "host/core/nearest.h"
#include "host/daemon.h"

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

void add_holders(const ClaimRecord& record, std::vector<ClaimRef>& holders) {
  if (!record.served().is_resource()) return holders.push_back(record.ref);
  for (const Holder& holder : holders_of(record)) holders.push_back({holder.name_space, holder.pod, holder.id});
}

ResourceReport report_of(const Resource& resource, const Supervisor* supervisor) {
  ResourceReport report{.name = resource.name().name, .module = supervisor ? supervisor->config().name : ""};
  if (const auto server = resource.server_status()) {
    report.socket = server->socket;
    report.way = server->way == RegistrationWay::kRegistry ? "registry" : "kubelet";
    report.registration = {std::string(to_string(server->registration.state)), server->registration.error};
  } else {
    report.registration = {"waiting", resource.server_error() ? resource.server_error()->message
                                      : supervisor            ? "its module has listed no device yet"
                                                   : "it is not configured any more; its devices are being let go of"};
  }
  for (const ListedDevice& device : *resource.list()) {
    ++report.devices;
    report.healthy += device.healthy;
  }
  report.handed_out = static_cast<std::uint32_t>(resource.allocator().handed_out().size());
  return report;
}

Condition condition_of(const Supervisor& supervisor) { return {to_string(supervisor.state()), supervisor.detail()}; }

}  // namespace

DriverReport Daemon::report(const Driver& driver) const {
  DriverReport report{.name = driver.name().name};
  for (const ModuleConfig& module : config_.modules) {
    if (std::ranges::none_of(module.serve, [&](const ServeConfig& rule) { return rule.served() == driver.name(); }))
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
  if (report.module.empty())
    report.publication = {"withdrawn", "it is not configured any more, and goes when nothing holds its devices"};
  for (const auto& [pool, status] : published.pools) {
    report.pool += (report.pool.empty() ? "" : ", ") + pool;
    report.generation = std::max(report.generation, status.generation);
    report.slices += static_cast<std::uint32_t>(status.slices);
    report.devices += static_cast<std::uint32_t>(status.devices);
  }
  return report;
}

std::vector<std::string> Daemon::config_warnings() const {
  std::vector<std::string> warnings;
  for (const std::string& error : live_config_.state().errors)
    warnings.push_back("the configuration file is not what runs: " + error);
  for (const std::string& key : live_config_.state().restart)
    warnings.push_back(fmt::format("the configuration file has another {}, which needs a restart of the daemon", key));
  for (const Supervisor* supervisor : supervisors_->all())
    if (supervisor->refused()) warnings.push_back(supervisor->refused()->message);
  return warnings;
}

StatusReport Daemon::status() const {
  StatusReport report{.node = config_.node.name,
                      .started = started_,
                      .uptime = clock_.now() - begun_,
                      .config_file = live_config_.file()};
  report.api_server = api_server_condition();
  report.ledger = ledger_condition(*ledger_);
  report.config_sha256 = config_.sha256;
  report.config = live_config_.state();
  report.warnings = config_warnings();
  report.live_claims = ledger_->claims().size();
  for (const Driver* driver : drivers_->all()) report.drivers.push_back(this->report(*driver));
  if (!resources_->all().empty()) report.pod_resources = pod_resources_condition();
  for (const Resource* resource : resources_->all()) {
    report.resources.push_back(report_of(*resource, table_.supervisor(resource->name())));
    for (const auto& [id, why] : resource->refused())
      report.warnings.push_back(
          fmt::format("device '{}' of resource '{}' is not offered: {}", id, resource->name().name, why));
  }
  for (const Supervisor* supervisor : supervisors_->all())
    if (const std::string warning = supervisor->warning(); !warning.empty()) report.warnings.push_back(warning);
  return report;
}

std::vector<ModuleReport> Daemon::modules() const {
  std::vector<ModuleReport> reports;
  for (const Supervisor* supervisor : supervisors_->all()) {
    const ModuleConfig& config = supervisor->config();
    ModuleReport report{
        .name = config.name,
        .path = config_.node.modules_dir / config.path,
        .isolation = config.isolation,
        .state = condition_of(*supervisor),
        .devices = supervisor->snapshot() ? static_cast<std::uint32_t>(supervisor->snapshot()->devices.size()) : 0,
        .restarts = static_cast<std::uint32_t>(supervisor->restarts()),
        .since = supervisor->since(),
        .recent_failures = static_cast<std::uint32_t>(supervisor->recent_failures()),
        .lines = supervisor->last_lines(),
        .last_end = supervisor->last_end()};
    if (auto why = supervisors_->draining(*supervisor); !why.empty()) report.state = {"draining", std::move(why)};
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
                        .api = served->served.api,
                        .driver = served->served.name,
                        .pool = served->pool,
                        .holders = {}};
    report.device.health = served->supervisor->health(served->device).health;
    for (const auto& record : ledger_->holders(report.module, served->device.id, report.driver, served->device.name))
      add_holders(*record, report.holders);
    reports.push_back(std::move(report));
  }
  return reports;
}

// Its drivers talk to it all the time, so their publishers know how it is.
Condition Daemon::api_server_condition() const {
  if (!config_.node.claims_folder.empty()) return {"embedded", config_.node.claims_folder.native()};
  Condition condition{"waiting", "nothing is published yet"};
  for (const Driver* driver : drivers_->all()) {
    const PublisherStatus& published = driver->publisher_status();
    if (!published.last_error.empty()) return {"unreachable", published.last_error};
    if (published.last_success) condition = {"connected", ""};
  }
  return condition;
}

// Of what lets us know that devices are free again.
Condition Daemon::pod_resources_condition() const {
  const PodReconcilerStatus status = pods_->status();
  const std::string& why = status.resources.error.empty() ? status.last_error : status.resources.error;
  return {std::string(to_string(status.resources.state)), why};
}

std::vector<std::shared_ptr<const ClaimRecord>> Daemon::claims() const {
  const auto records = ledger_->claims() | std::views::values;
  return {records.begin(), records.end()};
}

HttpPage Daemon::page(const std::string& path) const {
  if (path == "/metrics")
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_.page(*this)};
  if (path == "/healthz") return {.body = "ok\n"};
  if (path != "/readyz") return {.status = 404, .body = "the pages are /metrics, /healthz and /readyz\n"};
  for (const Supervisor* supervisor : supervisors_->all())
    if (!supervisor->settled())
      return {.status = 503, .body = fmt::format("module '{}' is starting\n", supervisor->config().name)};
  return {.body = "ok\n"};
}

Task<Result<Condition>> Daemon::command(ModuleCommand command) {
  std::vector<std::string> names;
  for (const Supervisor* supervisor : supervisors_->all()) names.push_back(supervisor->wanted().name);
  const std::string name = command.module;
  Supervisor* const supervisor = supervisors_->find(name);
  if (!supervisor) co_return fail(Code::kNotFound, "no module '{}'{}", name, nearest_hint(name, names));
  const Status done = co_await supervisor->execute(std::move(command));
  // It may have been removed meanwhile.
  const Supervisor* const told = supervisors_->find(name);
  if (done && told) co_return condition_of(*told);
  if (done) co_return Condition{"gone", ""};
  // That the module cannot is no sign of a daemon that does not answer.
  const Code code = done.error().code == Code::kUnavailable ? Code::kFailedPrecondition : done.error().code;
  co_return std::unexpected(Error{code, done.error().message});
}

Task<Result<std::vector<HistoryEntry>>> Daemon::history(HistoryQuery query) {
  return ledger_->history(std::move(query));
}

}  // namespace cardcage
