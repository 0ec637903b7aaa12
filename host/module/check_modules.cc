#include "host/module/check_modules.h"

#include "host/health/rules.h"
#include "host/module/load.h"

namespace cardcage {
namespace {

Task<Status> check_module(asio::io_context& core, Clock& clock, ModuleConfig module, const Config& config) {
  const bool inside = module.isolation == Isolation::kInProcess;
  module.isolation = Isolation::kProcess;
  const Instant deadline = clock.now() + config.deadlines.start;
  const auto build = co_await stage_module(core, clock, module, config.node.modules_dirs, deadline);
  if (!build) co_return std::unexpected(build.error());
  auto loading = load_module(core, clock, module, *build, deadline);
  const auto loaded = co_await std::move(loading);
  if (!loaded) co_return std::unexpected(loaded.error());
  if (inside && (*loaded)->identity().process_only) co_return must_run_in_process(module);
  const ModuleIdentity& identity = (*loaded)->identity();
  const auto rules = HealthRules::make(identity.causes, identity.has(Family::kReset), module.health);
  if (!rules) co_return std::unexpected(rules.error().to_error());
  co_return Status{};
}

Task<void> check_each(asio::io_context& core, Clock& clock, const Config& config, std::vector<Error>& problems) {
  for (const ModuleConfig& module : config.modules) {
    const Status checked = co_await check_module(core, clock, module, config);
    if (!checked) problems.push_back(checked.error());
  }
  core.stop();  // kills the workers without waiting for their exit
}

}  // namespace

std::vector<Error> check_modules(const Config& config) {
  asio::io_context core;
  SystemClock clock;
  std::vector<Error> problems;
  spawn(core, check_each(core, clock, config, problems));
  core.run();
  return problems;
}

}  // namespace cardcage
