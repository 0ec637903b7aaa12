#include "host/view/operator_view.h"

#include <algorithm>
#include <map>
#include <ranges>

#include "host/claim/conflicts.h"
#include "host/core/nearest.h"
#include "host/model/abi_note.h"
#include "host/view/catalogue_report.h"
#include "host/view/device_report.h"
#include "host/view/driver_report.h"
#include "host/view/module_report.h"
#include "host/view/node_conditions.h"
#include "host/view/resource_report.h"

namespace cardcage {
namespace {

// The time that a reload waits for the modules that it changed; cagectl waits 30 s for the whole reload.
constexpr Duration kReloadLimit = std::chrono::seconds(20);

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
                    .published = driver.publisher().status(),
                    .shared_pools = driver.publisher().shared_pools()};
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

bool lists(const Supervisor& supervisor, const std::string& name_or_id) {
  const auto is_meant = [&](const Device& device) {
    return device.name == name_or_id || device.id == name_or_id || device.parent_id == name_or_id;
  };
  return supervisor.snapshot() && std::ranges::any_of(supervisor.snapshot()->devices, is_meant);
}

}  // namespace

std::vector<std::string> OperatorView::warnings() const {
  std::vector<std::string> warnings = config_warnings(daemon_.live_config.state());
  const auto supervisors = daemon_.supervisors.all();
  for (const Supervisor* supervisor : supervisors)
    if (const auto refused = supervisor->refused()) warnings.push_back(refused->message);
  if (const Status hook = daemon_.hook_file.state(); !hook) warnings.push_back(hook.error().message);
  const auto& of_rules = daemon_.table.problems();
  warnings.insert(warnings.end(), of_rules.begin(), of_rules.end());
  for (std::string& problem : daemon_.events.problems()) warnings.push_back(std::move(problem));
  for (std::string& stuck : daemon_.stuck.all("")) warnings.push_back(std::move(stuck));
  for (std::string& refusal : daemon_.services.refusals()) warnings.push_back(std::move(refusal));
  for (std::string& problem : daemon_.problems()) warnings.push_back(std::move(problem));
  for (const Resource* resource : daemon_.resources.all())
    for (const auto& [id, why] : resource->refused())
      warnings.push_back(
          fmt::format("device '{}' of resource '{}' is not offered: {}", id, resource->name().name, why));
  for (const Supervisor* supervisor : supervisors)
    if (std::string warning = supervisor->warning(); !warning.empty()) warnings.push_back(std::move(warning));
  for (const Supervisor* supervisor : supervisors)
    if (const std::string note = supervisor->identity() ? abi_note(supervisor->identity()->abi) : ""; !note.empty())
      warnings.push_back(fmt::format("module '{}' is built for {}", supervisor->config().name, note));
  for (const Supervisor* supervisor : supervisors)
    if (supervisor->state() == ModuleState::kReady && supervisor->snapshot() && supervisor->snapshot()->devices.empty())
      warnings.push_back(
          fmt::format("module '{}' finds no devices on this node; the daemon's log says if something is missing",
                      supervisor->config().name));
  return warnings;
}

StatusReport OperatorView::status() const {
  StatusReport report{
      .node = daemon_.config.node.name,
      .started = daemon_.started,
      .uptime = daemon_.clock.now() - daemon_.begun,
      .restarts = daemon_.restarts,
      .config_file = daemon_.live_config.file(),
      .config_sha256 = daemon_.config.sha256,
      .config = daemon_.live_config.state(),
      .ledger = ledger_condition(daemon_.ledger.rebuilt(), daemon_.ledger.refusal(), daemon_.ledger.last_error()),
      .unwritten_changes = daemon_.ledger.unwritten(),
      .live_claims = static_cast<std::size_t>(
          std::ranges::count_if(daemon_.ledger.claims() | std::views::values,
                                [&](const auto& claim) { return holds_devices(*claim, daemon_.ledger.boot_id()); })),
      .early_claims = daemon_.claims.early(),
      .late_claims = daemon_.claims.late(),
      .warnings = warnings()};
  for (const Supervisor* supervisor : daemon_.supervisors.all())
    if (supervisor->refused()) report.refused_by.push_back(supervisor->config().name);
  std::vector<const PublisherStatus*> publishers;
  for (const Driver* driver : daemon_.drivers.all()) {
    publishers.push_back(&driver->publisher().status());
    report.drivers.push_back(driver_report(facts_of(*driver, daemon_.config.modules)));
  }
  report.api_server = api_server_condition(daemon_.config.node.claims_folder, publishers);
  if (std::string warning = runtime_warning(publishers); !warning.empty())
    report.warnings.push_back(std::move(warning));
  for (const Resource* resource : daemon_.resources.all())
    report.resources.push_back(resource_report(facts_of(*resource, daemon_.table.supervisor(resource->name()))));
  report.node_labels = daemon_.features.condition();
  if (daemon_.nri) report.runtime = daemon_.nri->condition();
  report.claim_status = daemon_.claim_statuses.condition();
  report.state_disk = state_disk_->space();
  if (!report.drivers.empty() && daemon_.config.node.claims_folder.empty())
    report.pods_api = pods_api_condition(daemon_.pods_watch.view());
  if (!report.resources.empty()) report.pod_resources = pod_resources_condition(daemon_.pods.status());
  return report;
}

std::vector<ModuleReport> OperatorView::modules() const {
  std::vector<ModuleReport> reports;
  for (const Supervisor* supervisor : daemon_.supervisors.all()) {
    reports.push_back(module_report(*supervisor, daemon_.supervisors.draining(*supervisor)));
    reports.back().services = daemon_.services.of_module(reports.back().name);
    Condition& state = reports.back().state;
    for (const std::string& stuck : daemon_.stuck.all(reports.back().name))
      state.text += (state.text.empty() ? "" : "; ") + stuck;
  }
  return reports;
}

std::vector<DeviceReport> OperatorView::devices() const {
  std::vector<DeviceReport> reports;
  std::map<const Resource*, HeldDevices> held;
  const auto held_devices = [&held](const Resource& resource) -> const HeldDevices& {
    const auto known = held.find(&resource);
    return known != held.end() ? known->second : held.emplace(&resource, resource.held_devices()).first->second;
  };
  for (const ServedDevice* served : daemon_.table.devices()) {
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
    if (const CordonRecord* const cordon = served->supervisor->device_health().find_cordon(served->device.id))
      report.cordon = *cordon;
    if (const Resource* resource =
            served->served.is_resource() ? daemon_.resources.find(served->served.name) : nullptr) {
      const auto own = resource->allocator().record_for(report.module, served->device);
      if (auto why = resource->allocator().unavailable(held_devices(*resource), served->device, own.get());
          why && !daemon_.stuck.find({report.module, report.device.id}))
        report.device.health = *std::move(why);
    }
    const auto records = claims_holding(report.module, held_device(*served), daemon_.ledger);
    report.holders = device_holders(records);
    report.user = device_user(records, daemon_.pods.claim_users());
    reports.push_back(std::move(report));
  }
  return reports;
}

std::vector<ClaimReport> OperatorView::claims() const {
  std::vector<ClaimReport> reports;
  for (const auto& [key, record] : daemon_.ledger.claims()) {
    std::string progress;
    for (const ModulePart& part : record->parts) {
      const auto module = daemon_.table.module_for_release(part.module);
      if (const auto told = module ? (*module)->progress(key.uid) : std::nullopt) progress = to_string(*told);
    }
    const bool earlier_boot = record->boot_id != daemon_.ledger.boot_id();
    reports.push_back({record, std::move(progress), daemon_.services.of_claim(key.uid), earlier_boot});
  }
  return reports;
}

std::unexpected<Error> OperatorView::no_module(const std::string& name) const {
  std::vector<std::string> names;
  for (const Supervisor* supervisor : daemon_.supervisors.all()) names.push_back(supervisor->wanted().name);
  return fail(Code::kNotFound, "no module '{}'{}", name, nearest_hint(name, names));
}

Task<Result<Condition>> OperatorView::command(ModuleCommand command) {
  const std::string name = command.module;
  Supervisor* const supervisor = daemon_.supervisors.find(name);
  if (!supervisor) co_return no_module(name);
  const Status done = co_await supervisor->execute(std::move(command));
  if (!done) {
    // cagectl takes kUnavailable for a daemon that does not respond; here only the module failed.
    const Code code = done.error().code == Code::kUnavailable ? Code::kFailedPrecondition : done.error().code;
    co_return std::unexpected(Error{code, done.error().message});
  }
  // It may have been removed meanwhile.
  const Supervisor* const after = daemon_.supervisors.find(name);
  if (!after) co_return gone_condition();
  co_return module_condition(module_facts(*after, daemon_.supervisors.draining(*after)));
}

Result<Supervisor*> OperatorView::module_of(const DeviceCommand& command) const {
  if (!command.module.empty()) {
    if (Supervisor* const named = daemon_.supervisors.find(command.module)) return named;
    return no_module(command.module);
  }
  std::vector<std::string> having, devices;
  for (const Supervisor* supervisor : daemon_.supervisors.all()) {
    if (lists(*supervisor, command.device)) having.push_back(supervisor->wanted().name);
    if (supervisor->snapshot())
      for (const Device& device : supervisor->snapshot()->devices) devices.push_back(device.name);
  }
  if (having.empty())  // a device that is gone may have a cordon or a cause that only an operator ends
    for (const Supervisor* supervisor : daemon_.supervisors.all())
      if (supervisor->device_health().find_device(command.device)) having.push_back(supervisor->wanted().name);
  if (having.size() == 1) return daemon_.supervisors.find(having.front());
  if (having.empty())
    return fail(Code::kNotFound, "no device '{}'{}; 'cagectl devices' lists them", command.device,
                nearest_hint(command.device, devices));
  return fail(Code::kInvalidArgument, "several modules have a device '{}': say --module with one of {}", command.device,
              fmt::join(having, ", "));
}

Task<Result<std::string>> OperatorView::command(DeviceCommand command) {
  const auto supervisor = module_of(command);
  if (!supervisor) co_return std::unexpected(supervisor.error());
  auto done = co_await (*supervisor)->execute(std::move(command));
  // cagectl takes kUnavailable for a daemon that does not respond; here only the module failed.
  if (!done && done.error().code == Code::kUnavailable)
    co_return std::unexpected(Error{Code::kFailedPrecondition, done.error().message});
  co_return done;
}

Condition OperatorView::outcome_of(const std::string& module) const {
  const Supervisor* const supervisor = daemon_.supervisors.find(module);
  if (!supervisor) return gone_condition();
  return reload_outcome(module_facts(*supervisor, daemon_.supervisors.draining(*supervisor)));
}

Task<Result<ReloadReport>> OperatorView::reload(bool dry_run) {
  if (daemon_.stopping) co_return fail(Code::kUnavailable, "the daemon is stopping");
  std::vector<std::string> modules;
  ReloadReport report{.file = daemon_.live_config.file(), .applied = false, .errors = {}, .steps = {}};
  const auto retried = dry_run ? std::vector<std::string>{} : daemon_.supervisors.retry();
  const ReloadResult result = daemon_.live_config.reload(dry_run);
  report.errors = result.errors;
  report.applied = !dry_run && result.errors.empty();
  for (PlanStep& step : steps(result.plan)) report.steps.push_back({std::move(step), {}});
  for (const ModuleChange& change : result.plan.modules) modules.push_back(change.name);
  if (!report.applied) co_return report;
  for (const std::string& name : retried) {
    if (std::ranges::find(modules, name) != modules.end()) continue;
    report.steps.insert(report.steps.begin() + static_cast<std::ptrdiff_t>(modules.size()),
                        {PlanStep{"module " + name, PlanAction::kReplace, "refused before, tried again", name}, {}});
    modules.push_back(name);
  }
  co_await daemon_.supervisors.wait_until_decided(modules, daemon_.clock.now() + kReloadLimit);
  for (ReloadReport::Step& step : report.steps)
    if (!step.what.module.empty()) step.outcome = outcome_of(step.what.module);
  co_return report;
}

Task<Result<ForgetReport>> OperatorView::forget(std::string uid, bool force) {
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
    Driver* const driver = daemon_.drivers.find(record->driver);
    if (!driver) co_return fail(Code::kUnavailable, "driver '{}' is not served yet; try again", record->driver);
    const Status released = co_await driver->unprepare(record->ref);
    if (released) continue;
    report.problems.push_back(released.error().message);
    const Status dropped = co_await driver->drop(record->ref);
    if (!dropped) co_return std::unexpected(dropped.error());
  }
  co_return report;
}

Task<Result<std::vector<CatalogueReport>>> OperatorView::catalogue(std::string module) {
  if (!module.empty() && !daemon_.supervisors.find(module)) co_return no_module(module);
  std::vector<CatalogueSource> sources;
  for (const Supervisor* supervisor : daemon_.supervisors.all()) {
    const std::string& name = supervisor->config().name;
    const auto& identity = supervisor->identity();
    // A module that was never loaded may have one.
    const bool may_have_one = !identity || identity->has(Family::kCatalogue);
    if (module.empty() ? may_have_one : name == module) sources.push_back({name, supervisor->module()});
  }
  co_return co_await collect_catalogues(daemon_.core, daemon_.clock, std::move(sources));
}

Task<Result<std::vector<HistoryEntry>>> OperatorView::history(HistoryQuery query) {
  return daemon_.ledger.history(std::move(query));
}

Result<std::vector<HealthRulesReport>> OperatorView::health_rules(std::string module) const {
  if (!module.empty() && !daemon_.supervisors.find(module)) return no_module(module);
  std::vector<HealthRulesReport> reports;
  for (const Supervisor* supervisor : daemon_.supervisors.all()) {
    if (!module.empty() && supervisor->config().name != module) continue;
    const auto& refused = supervisor->rules_refused();
    reports.push_back({.module = supervisor->config().name,
                       .rules = supervisor->device_health().rules().all(),
                       .refused = refused ? refused->message : ""});
  }
  return reports;
}

Task<Result<std::vector<HealthEvent>>> OperatorView::health_history(HealthQuery query) {
  return daemon_.ledger.health().health_history(std::move(query));
}

}  // namespace cardcage
