// The daemon as operators see it: gathers the facts for host/view.
#include <algorithm>
#include <map>
#include <ranges>

#include "host/claim/conflicts.h"
#include "host/core/nearest.h"
#include "host/daemon.h"
#include "host/view/catalogue_report.h"
#include "host/view/device_report.h"
#include "host/view/driver_report.h"
#include "host/view/module_report.h"
#include "host/view/node_conditions.h"
#include "host/view/resource_report.h"

namespace cardcage {
namespace {

std::vector<std::string> modules_serving(const std::vector<ModuleConfig>& modules, const std::string& driver) {
  std::vector<std::string> names;
  for (const ModuleConfig& module : modules)
    if (std::ranges::find(module.serve, driver, &ServeConfig::driver) != module.serve.end())
      names.push_back(module.name);
  return names;
}

DriverFacts facts_of(const Driver& driver, const std::vector<ModuleConfig>& modules) {
  DriverFacts facts{.name = driver.name().name,
                    .modules = modules_serving(modules, driver.name().name),
                    .server_error = driver.server_error(),
                    .published = driver.publisher_status(),
                    .shared_pools = driver.shared_pools()};
  if (auto server = driver.server_status())
    facts.server = {.socket = server->sockets.service, .registration = server->registration};
  return facts;
}

ResourceFacts facts_of(const Resource& resource, const Supervisor* supervisor) {
  ResourceFacts facts{.name = resource.name().name,
                      .module = supervisor ? supervisor->config().name : "",
                      .server_error = resource.server_error(),
                      .devices = resource.list(),
                      .handed_out = resource.allocator().handed_out().size()};
  if (auto server = resource.server_status()) {
    facts.server = {.socket = server->socket, .registration = server->registration};
    facts.way = server->way;
  }
  return facts;
}

}  // namespace

std::vector<std::string> Daemon::warnings() const {
  std::vector<std::string> warnings = config_warnings(live_config_.state());
  const auto supervisors = supervisors_->all();
  for (const Supervisor* supervisor : supervisors)
    if (const auto refused = supervisor->refused()) warnings.push_back(refused->message);
  if (const Status hook = hook_file_->state(); !hook) warnings.push_back(hook.error().message);
  const auto& of_rules = table_.problems();
  warnings.insert(warnings.end(), of_rules.begin(), of_rules.end());
  for (std::string& problem : events_.problems()) warnings.push_back(std::move(problem));
  for (std::string& stuck : writes_->stuck->all("")) warnings.push_back(std::move(stuck));
  for (std::string& refusal : services_->refusals()) warnings.push_back(std::move(refusal));
  warnings.insert(warnings.end(), run_file_problems_.begin(), run_file_problems_.end());
  if (!metrics_error_.empty()) warnings.push_back("metrics are not served: " + metrics_error_);
  for (const Resource* resource : resources_->all())
    for (const auto& [id, why] : resource->refused())
      warnings.push_back(
          fmt::format("device '{}' of resource '{}' is not offered: {}", id, resource->name().name, why));
  for (const Supervisor* supervisor : supervisors)
    if (std::string warning = supervisor->warning(); !warning.empty()) warnings.push_back(std::move(warning));
  for (const Supervisor* supervisor : supervisors)
    if (supervisor->state() == ModuleState::kReady && supervisor->snapshot() && supervisor->snapshot()->devices.empty())
      warnings.push_back(
          fmt::format("module '{}' finds no devices on this node; the daemon's log says if something is missing",
                      supervisor->config().name));
  return warnings;
}

StatusReport Daemon::status() const {
  StatusReport report{.node = config_.node.name,
                      .started = started_,
                      .uptime = clock_.now() - begun_,
                      .restarts = restarts_,
                      .config_file = live_config_.file(),
                      .config_sha256 = config_.sha256,
                      .config = live_config_.state(),
                      .ledger = ledger_condition(ledger_->rebuilt(), ledger_->refusal(), ledger_->last_error()),
                      .unwritten_changes = ledger_->unwritten(),
                      .live_claims = static_cast<std::size_t>(std::ranges::count_if(
                          ledger_->claims() | std::views::values,
                          [&](const auto& claim) { return holds_devices(*claim, ledger_->boot_id()); })),
                      .early_claims = claims_->early(),
                      .late_claims = claims_->late(),
                      .warnings = warnings()};
  for (const Supervisor* supervisor : supervisors_->all())
    if (supervisor->refused()) report.refused_by.push_back(supervisor->config().name);
  std::vector<const PublisherStatus*> publishers;
  for (const Driver* driver : drivers_->all()) {
    publishers.push_back(&driver->publisher_status());
    report.drivers.push_back(driver_report(facts_of(*driver, config_.modules)));
  }
  report.api_server = api_server_condition(config_.node.claims_folder, publishers);
  if (std::string warning = runtime_warning(publishers); !warning.empty())
    report.warnings.push_back(std::move(warning));
  for (const Resource* resource : resources_->all())
    report.resources.push_back(resource_report(facts_of(*resource, table_.supervisor(resource->name()))));
  report.node_labels = features_.condition();
  if (nri_) report.runtime = nri_->condition();
  report.claim_status = claim_statuses_->condition();
  if (!report.resources.empty()) report.pod_resources = pod_resources_condition(pods_->status());
  return report;
}

std::vector<ModuleReport> Daemon::modules() const {
  std::vector<ModuleReport> reports;
  for (const Supervisor* supervisor : supervisors_->all()) {
    reports.push_back(module_report(*supervisor, supervisors_->draining(*supervisor)));
    reports.back().services = services_->of_module(reports.back().name);
    Condition& state = reports.back().state;
    for (const std::string& stuck : writes_->stuck->all(reports.back().name))
      state.text += (state.text.empty() ? "" : "; ") + stuck;
  }
  return reports;
}

std::vector<DeviceReport> Daemon::devices() const {
  std::vector<DeviceReport> reports;
  std::map<const Resource*, HeldDevices> held;
  const auto held_devices = [&held](const Resource& resource) -> const HeldDevices& {
    const auto known = held.find(&resource);
    return known != held.end() ? known->second : held.emplace(&resource, resource.held_devices()).first->second;
  };
  for (const ServedDevice* served : table_.devices()) {
    DeviceReport report{.module = served->supervisor->config().name,
                        .device = served->device,
                        .causes = {},
                        .api = served->served.api,
                        .driver = served->served.name,
                        .pool = served->pool,
                        .holders = {}};
    DeviceHealth health = served->supervisor->health(served->device);
    report.device.health = std::move(health.health);
    report.causes = std::move(health.causes);
    if (const Resource* resource = served->served.is_resource() ? resources_->find(served->served.name) : nullptr) {
      const auto own = resource->allocator().record_for(report.module, served->device);
      if (auto why = resource->allocator().unavailable(held_devices(*resource), served->device, own.get());
          why && !writes_->stuck->find({report.module, report.device.id}))
        report.device.health = *std::move(why);
    }
    const auto records = claims_holding(report.module, held_device(*served), *ledger_);
    report.holders = device_holders(records);
    report.user = device_user(records, pods_->claim_users());
    reports.push_back(std::move(report));
  }
  return reports;
}

std::vector<ClaimReport> Daemon::claims() const {
  std::vector<ClaimReport> reports;
  for (const auto& [key, record] : ledger_->claims()) {
    std::string progress;
    for (const ModulePart& part : record->parts) {
      const auto module = table_.module_for_release(part.module);
      if (const auto told = module ? (*module)->progress(key.uid) : std::nullopt) progress = to_string(*told);
    }
    const bool earlier_boot = record->boot_id != ledger_->boot_id();
    reports.push_back({record, std::move(progress), services_->of_claim(key.uid), earlier_boot});
  }
  return reports;
}

std::vector<MetricsCollector::Source> Daemon::metrics_sources() const {
  std::vector<MetricsCollector::Source> sources;
  for (const Supervisor* supervisor : supervisors_->all()) {
    const auto module = supervisor->module();
    if (module && !(*module)->identity().metrics.empty()) sources.push_back({supervisor->config().name, *module});
  }
  return sources;
}

// Claims name the pods that use their devices only in the kubelet's lists.
bool Daemon::wants_claim_users() const {
  const auto& claims = ledger_->claims();
  return !metrics_sources().empty() &&
         std::ranges::any_of(claims, [](const auto& claim) { return !claim.second->served().is_resource(); });
}

Task<HttpPage> Daemon::metrics_page() {
  if (wants_claim_users()) {
    pods_wanted_.wake();
    if (pods_->claim_users().empty()) pods_->nudge();
  }
  auto collected = co_await collector_.collect();
  auto facts = std::make_shared<const MetricsFacts>(metrics_facts(*this, counters_, std::move(collected)));
  const OneShot<std::string> written(core_);
  asio::post(page_writer_, [written, facts = std::move(facts)] { written.set(metrics_text(*facts)); });
  HttpPage page{.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = {}};
  page.body = co_await written.wait();
  co_return page;
}

HttpPage Daemon::readiness() const {
  if (const auto& errors = live_config_.state().errors; !errors.empty())
    return {.status = 503, .body = fmt::format("the configuration file is not applied: {}\n", errors.front())};
  for (const Supervisor* supervisor : supervisors_->all()) {
    if (!supervisor->settled())
      return {.status = 503, .body = fmt::format("module '{}' is starting\n", supervisor->config().name)};
    if (const auto refused = supervisor->refused()) return {.status = 503, .body = refused->message + "\n"};
  }
  if (const auto refused = ledger_->refusal()) return {.status = 503, .body = refused->message + "\n"};
  return {.body = "ok\n"};
}

Task<HttpPage> Daemon::page(std::string path) {
  if (path == "/metrics") co_return co_await metrics_page();
  if (path == "/readyz") co_return readiness();
  HttpPage page{.body = "ok\n"};
  if (path != "/healthz") page = {.status = 404, .body = "the pages are /metrics, /healthz and /readyz\n"};
  co_return page;
}

std::unexpected<Error> Daemon::no_module(const std::string& name) const {
  std::vector<std::string> names;
  for (const Supervisor* supervisor : supervisors_->all()) names.push_back(supervisor->wanted().name);
  return fail(Code::kNotFound, "no module '{}'{}", name, nearest_hint(name, names));
}

Task<Result<Condition>> Daemon::command(ModuleCommand command) {
  const std::string name = command.module;
  Supervisor* const supervisor = supervisors_->find(name);
  if (!supervisor) co_return no_module(name);
  const Status done = co_await supervisor->execute(std::move(command));
  if (!done) {
    // cagectl takes kUnavailable for a daemon that does not respond; here only the module failed.
    const Code code = done.error().code == Code::kUnavailable ? Code::kFailedPrecondition : done.error().code;
    co_return std::unexpected(Error{code, done.error().message});
  }
  // It may have been removed meanwhile.
  const Supervisor* const after = supervisors_->find(name);
  if (!after) co_return gone_condition();
  co_return module_condition(module_facts(*after, supervisors_->draining(*after)));
}

Task<Result<ForgetReport>> Daemon::forget(std::string uid, bool force) {
  ForgetReport report;
  std::ranges::copy_if(claims(), std::back_inserter(report.claims),
                       [&](const ClaimReport& claim) { return claim.record->ref.uid == uid; });
  if (report.claims.empty())
    co_return fail(Code::kNotFound, "no claim with UID '{}' is prepared; 'cagectl claims' lists those that are", uid);
  for (const ClaimReport& claim : report.claims)
    if (const auto& record = claim.record; record->served().is_resource())
      co_return fail(
          Code::kFailedPrecondition,
          "'{}' is a device of resource '{}': it is released when the kubelet does not list its pod any more", uid,
          record->driver);
  if (!force) co_return report;
  for (const ClaimReport& claim : report.claims) {
    const auto& record = claim.record;
    Driver* const driver = drivers_->find(record->driver);
    if (!driver) co_return fail(Code::kUnavailable, "driver '{}' is not served yet; try again", record->driver);
    const Status released = co_await driver->unprepare(record->ref);
    if (released) continue;
    report.problems.push_back(released.error().message);
    const Status dropped = co_await driver->drop(record->ref);
    if (!dropped) co_return std::unexpected(dropped.error());
  }
  co_return report;
}

Task<Result<std::vector<CatalogueReport>>> Daemon::catalogue(std::string module) {
  if (!module.empty() && !supervisors_->find(module)) co_return no_module(module);
  std::vector<CatalogueSource> sources;
  for (const Supervisor* supervisor : supervisors_->all()) {
    const std::string& name = supervisor->config().name;
    const auto& identity = supervisor->identity();
    // A module that was never loaded may have one.
    const bool may_have_one = !identity || identity->has(Family::kCatalogue);
    if (module.empty() ? may_have_one : name == module) sources.push_back({name, supervisor->module()});
  }
  co_return co_await collect_catalogues(core_, clock_, std::move(sources));
}

Task<Result<std::vector<HistoryEntry>>> Daemon::history(HistoryQuery query) {
  return ledger_->history(std::move(query));
}

}  // namespace cardcage
