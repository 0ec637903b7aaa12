// The daemon's part in the health of devices: commands of operators, events and holders.
#include <algorithm>

#include "host/claim/conflicts.h"
#include "host/core/nearest.h"
#include "host/daemon.h"
#include "host/view/device_report.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxHolders = 3;  // holders that a message names

std::string to_text(const ClaimRef& ref) {
  return ref.name.empty() ? "claim " + ref.uid : fmt::format("'{}/{}'", ref.name_space, ref.name);
}

bool lists(const Supervisor& supervisor, const std::string& name_or_id) {
  const auto is_meant = [&](const Device& device) {
    return device.name == name_or_id || device.id == name_or_id || device.parent_id == name_or_id;
  };
  return supervisor.snapshot() && std::ranges::any_of(supervisor.snapshot()->devices, is_meant);
}

}  // namespace

void Daemon::note(const HealthEvent& event) {
  if (modules_end_) return;
  counters_.health.note(event);
  node_events_->record(event);
}

// The claims that hold the device or one of its partitions, for a message.
std::string Daemon::holders_of(const Supervisor& supervisor, const Device& device) const {
  std::vector<std::string> names;
  for (const ServedDevice* served : table_.devices()) {
    if (served->supervisor != &supervisor) continue;
    if (served->device.id != device.id && served->device.parent_id != device.id) continue;
    const auto records = claims_holding(supervisor.config().name, held_device(*served), *ledger_);
    for (const ClaimRef& ref : device_holders(records)) names.push_back(to_text(ref));
  }
  const std::size_t all = names.size();
  names.resize(std::min(all, kMaxHolders));
  return fmt::format("{}{}", fmt::join(names, ", "),
                     all > kMaxHolders ? fmt::format(" and {} more", all - kMaxHolders) : "");
}

std::string Daemon::why_replaced(const std::string& module, const Device& device) const {
  const ServedDevice* const served = table_.find(module, device.id);
  if (!served) return "";
  const auto conflict = find_name_conflict({}, module, held_device(*served), *ledger_);
  return conflict ? fmt::format("{}; delete its pod to release it", to_string(*conflict)) : "";
}

Result<Supervisor*> Daemon::module_of(const DeviceCommand& command) const {
  if (!command.module.empty()) {
    if (Supervisor* const named = supervisors_->find(command.module)) return named;
    return no_module(command.module);
  }
  std::vector<std::string> having, devices;
  for (const Supervisor* supervisor : supervisors_->all()) {
    if (lists(*supervisor, command.device)) having.push_back(supervisor->wanted().name);
    if (supervisor->snapshot())
      for (const Device& device : supervisor->snapshot()->devices) devices.push_back(device.name);
  }
  if (having.empty())  // a device that is gone may have a cordon or a cause that only an operator ends
    for (const Supervisor* supervisor : supervisors_->all())
      if (supervisor->device_health().find_device(command.device)) having.push_back(supervisor->wanted().name);
  if (having.size() == 1) return supervisors_->find(having.front());
  if (having.empty())
    return fail(Code::kNotFound, "no device '{}'{}; 'cagectl devices' lists them", command.device,
                nearest_hint(command.device, devices));
  return fail(Code::kInvalidArgument, "several modules have a device '{}': say --module with one of {}", command.device,
              fmt::join(having, ", "));
}

Task<Result<std::string>> Daemon::command(DeviceCommand command) {
  const auto supervisor = module_of(command);
  if (!supervisor) co_return std::unexpected(supervisor.error());
  auto done = co_await (*supervisor)->execute(std::move(command));
  // cagectl takes kUnavailable for a daemon that does not respond; here only the module failed.
  if (!done && done.error().code == Code::kUnavailable)
    co_return std::unexpected(Error{Code::kFailedPrecondition, done.error().message});
  co_return done;
}

Result<std::vector<HealthRulesReport>> Daemon::health_rules(std::string module) const {
  if (!module.empty() && !supervisors_->find(module)) return no_module(module);
  std::vector<HealthRulesReport> reports;
  for (const Supervisor* supervisor : supervisors_->all()) {
    if (!module.empty() && supervisor->config().name != module) continue;
    const auto& refused = supervisor->rules_refused();
    reports.push_back({.module = supervisor->config().name,
                       .rules = supervisor->device_health().rules().all(),
                       .refused = refused ? refused->message : ""});
  }
  return reports;
}

Task<Result<std::vector<HealthEvent>>> Daemon::health_history(HealthQuery query) {
  return ledger_->health().health_history(std::move(query));
}

}  // namespace cardcage
