#include "host/view/module_report.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "host/config/options.h"

namespace cardcage {
namespace {

Level level_of(ModuleState state) {
  switch (state) {
    case ModuleState::kReady: return Level::kGood;
    case ModuleState::kBackingOff:
    case ModuleState::kBroken:
    case ModuleState::kStuck: return Level::kBad;
    case ModuleState::kStarting:
    case ModuleState::kQuiesced:
    case ModuleState::kStopped: break;
  }
  return Level::kInProgress;
}

// Returns each driver once, in the order of the configuration.
std::vector<std::string> drivers_of(const ModuleConfig& config) {
  std::vector<std::string> drivers;
  for (const ServeConfig& rule : config.serve)
    if (rule.api == Api::kDra && std::ranges::find(drivers, rule.driver) == drivers.end())
      drivers.push_back(rule.driver);
  return drivers;
}

}  // namespace

ModuleFacts module_facts(const Supervisor& supervisor, std::string draining) {
  const auto refused = supervisor.refused();
  return {.state = supervisor.state(),
          .detail = supervisor.detail(),
          .draining = std::move(draining),
          .undecided = supervisor.undecided(),
          .refused = refused ? std::optional(refused->message) : std::nullopt};
}

std::string text_of_confinement(const ProcessConfig& process) {
  std::vector<std::string> parts;
  if (!process.user.empty()) parts.push_back("user " + process.user);
  if (process.capabilities)
    parts.push_back(process.capabilities->empty() ? "no capabilities"
                                                  : fmt::format("{}", fmt::join(*process.capabilities, " ")));
  else if (!process.user.empty())
    parts.emplace_back("no capabilities");
  if (process.seccomp) parts.emplace_back("seccomp");
  return fmt::format("{}", fmt::join(parts, ", "));
}

Condition module_condition(const ModuleFacts& facts) {
  if (!facts.draining.empty()) return {Level::kInProgress, "draining", facts.draining};
  return {facts.refused ? Level::kBad : level_of(facts.state), to_string(facts.state), facts.detail};
}

Condition reload_outcome(const ModuleFacts& facts) {
  if (!facts.draining.empty()) return module_condition(facts);
  if (facts.undecided) return {Level::kInProgress, "starting", "'cagectl modules' shows how it continues"};
  if (facts.refused) return {Level::kBad, "refused", *facts.refused};
  if (facts.state == ModuleState::kReady) return {Level::kGood, to_string(facts.state), ""};
  return module_condition(facts);
}

Condition gone_condition() { return {Level::kGood, "gone", ""}; }

ModulePermissions permissions_of(const ModuleConfig& config) {
  ModulePermissions permissions{
      .confined_by = text_of_confinement(config.process), .writes = config.writes, .edits = allowed_edits(config)};
  for (const auto& program : config.programs) permissions.programs.push_back(program.native());
  return permissions;
}

ModuleReport module_report(const Supervisor& supervisor, std::string draining) {
  const ModuleConfig& config = supervisor.config();
  const SnapshotPtr& snapshot = supervisor.snapshot();
  ModuleReport report{.name = config.name,
                      .path = supervisor.file(),
                      .isolation = config.isolation,
                      .permissions = permissions_of(config),
                      .state = module_condition(module_facts(supervisor, std::move(draining))),
                      .config_ok = supervisor.runs_as_wanted(),
                      .devices = snapshot ? static_cast<std::uint32_t>(snapshot->devices.size()) : 0,
                      .restarts = static_cast<std::uint32_t>(supervisor.restarts()),
                      .since = supervisor.since(),
                      .recent_failures = static_cast<std::uint32_t>(supervisor.recent_failures()),
                      .lines = supervisor.last_lines(),
                      .last_end = supervisor.last_end(),
                      .identity = supervisor.identity(),
                      .labels = supervisor.labels().values,
                      .drivers = drivers_of(config)};
  if (snapshot) {
    report.not_offered = snapshot->left_out;
    report.not_offered.insert(snapshot->not_offered.begin(), snapshot->not_offered.end());
  }
  if (report.identity) report.options = check_options(config, report.identity->options).value_or(OptionValues{});
  return report;
}

}  // namespace cardcage
