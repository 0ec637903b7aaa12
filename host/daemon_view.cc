// The daemon as operators see it: gathers the facts for host/view.
#include <algorithm>
#include <map>
#include <ranges>

#include "host/core/nearest.h"
#include "host/daemon.h"
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
                    .published = driver.publisher_status()};
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
    if (supervisor->refused()) warnings.push_back(supervisor->refused()->message);
  for (const Resource* resource : resources_->all())
    for (const auto& [id, why] : resource->refused())
      warnings.push_back(
          fmt::format("device '{}' of resource '{}' is not offered: {}", id, resource->name().name, why));
  for (const Supervisor* supervisor : supervisors)
    if (std::string warning = supervisor->warning(); !warning.empty()) warnings.push_back(std::move(warning));
  return warnings;
}

StatusReport Daemon::status() const {
  StatusReport report{.node = config_.node.name,
                      .started = started_,
                      .uptime = clock_.now() - begun_,
                      .config_file = live_config_.file(),
                      .config_sha256 = config_.sha256,
                      .config = live_config_.state(),
                      .ledger = ledger_condition(ledger_->rebuilt(), ledger_->last_error()),
                      .live_claims = ledger_->claims().size(),
                      .warnings = warnings()};
  std::vector<const PublisherStatus*> publishers;
  for (const Driver* driver : drivers_->all()) {
    publishers.push_back(&driver->publisher_status());
    report.drivers.push_back(driver_report(facts_of(*driver, config_.modules)));
  }
  report.api_server = api_server_condition(config_.node.claims_folder, publishers);
  for (const Resource* resource : resources_->all())
    report.resources.push_back(resource_report(facts_of(*resource, table_.supervisor(resource->name()))));
  if (!report.resources.empty()) report.pod_resources = pod_resources_condition(pods_->status());
  return report;
}

std::vector<ModuleReport> Daemon::modules() const {
  std::vector<ModuleReport> reports;
  for (const Supervisor* supervisor : supervisors_->all())
    reports.push_back(module_report(*supervisor, supervisors_->draining(*supervisor), config_.node.modules_dir));
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
                        .api = served->served.api,
                        .driver = served->served.name,
                        .pool = served->pool,
                        .holders = {}};
    report.device.health = served->supervisor->health(served->device).health;
    if (const Resource* resource = served->served.is_resource() ? resources_->find(served->served.name) : nullptr)
      if (auto why = resource->allocator().unavailable(held_devices(*resource), served->device))
        report.device.health = *std::move(why);
    report.holders =
        device_holders(ledger_->holders(report.module, served->device.id, report.driver, served->device.name));
    reports.push_back(std::move(report));
  }
  return reports;
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
  for (const auto& [key, record] : ledger_->claims())
    if (key.uid == uid) report.claims.push_back(record);
  if (report.claims.empty())
    co_return fail(Code::kNotFound, "no claim with UID '{}' is prepared; 'cagectl claims' lists those that are", uid);
  for (const auto& record : report.claims)
    if (record->served().is_resource())
      co_return fail(
          Code::kFailedPrecondition,
          "'{}' is a device of resource '{}': it is released when the kubelet does not list its pod any more", uid,
          record->driver);
  if (!force) co_return report;
  for (const auto& record : report.claims) {
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

Task<Result<std::vector<HistoryEntry>>> Daemon::history(HistoryQuery query) {
  return ledger_->history(std::move(query));
}

}  // namespace cardcage
