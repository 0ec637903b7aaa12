#include "host/module/load.h"

#include <fcntl.h>
#include <fmt/ranges.h>

#include <atomic>
#include <set>

#include "host/config/options.h"
#include "host/core/detached.h"
#include "host/core/log.h"
#include "host/core/version.h"
#include "host/instance/declarations.h"
#include "host/model/abi_note.h"
#include "host/module/in_process.h"
#include "host/module/remote.h"
#include "host/process/own_programs.h"

namespace cardcage {
namespace {

Result<StagedModule> copy_of(const StagedModule& build) {
  UniqueFd image(::fcntl(build.image.get(), F_DUPFD_CLOEXEC, 0));
  if (!image) return fail_errno(errno, "cannot duplicate a descriptor");
  return StagedModule{build.path, build.sha256, build.elf, std::move(image)};
}

struct CheckedModule {
  LoadedModule module;
  RunningModule::Parts parts;  // without the work on the node
};

Result<CheckedModule> load_and_check(const ModuleConfig& config, const StagedModule& build, bool alone) {
  if (!build.elf.others.empty())
    log(LogLevel::kWarn, "module exports more than its entry; other modules may get its symbols",
        {{"module", config.name}, {"symbols", fmt::format("{}", fmt::join(build.elf.others, ", "))}, {"rule", "R1"}});
  auto staged = copy_of(build);
  if (!staged) return within(staged.error(), "module '{}'", config.name);
  auto loaded = load_identified(config.name, std::move(*staged));
  if (!loaded) return std::unexpected(loaded.error());
  if (loaded->identity.process_only && !alone) return must_run_in_process(config);
  auto options = checked_options(config, loaded->identity.options);
  if (!options) return std::unexpected(options.error());
  return CheckedModule{std::move(loaded->module), {config.name, std::move(loaded->identity), std::move(*options), {}}};
}

NodeWork node_work(const ModuleConfig& config, SharedParts shared) {
  auto make_group = [groups = shared.groups, module = config.name] { return groups ? groups->make(module) : nullptr; };
  return {std::make_shared<Programs>(config.name, ProgramRules(config, shared.roots.driver), std::move(make_group)),
          std::make_shared<Writes>(config.name, config.writes, std::move(shared.writes)), std::move(shared.services),
          shared.roots, std::make_shared<EditRules>(config, shared.roots)};
}

Error stuck_while_loaded(const std::string& module) {
  return {Code::kDeadlineExceeded,
          fmt::format("module '{}' is stuck while it is loaded, in a constructor or its entry: they must do no work",
                      module)};
}

// Runs `function` on the lane and returns its value, or nothing if the deadline passes before: then the thread is left
// alone, and `left` says `late` until the function has returned.
template <class Function>
auto run_on(std::unique_ptr<Lane>& lane, asio::io_context& core, Clock& clock, Instant deadline, Function function,
            std::string late, Leftover& left) -> Task<std::optional<decltype(function())>> {
  const auto has_returned = std::make_shared<std::atomic<bool>>(false);
  auto work = [has_returned, function = std::move(function)] {
    auto value = function();
    has_returned->store(true);
    return value;
  };
  const auto post = [&lane](Lane::Job job) { lane->post(std::move(job)); };
  auto running = run_outside(core, clock, deadline, std::move(work), post);
  auto value = co_await std::move(running);
  if (value) co_return std::move(value);
  lane->leave_alone();
  left = [has_returned, late = std::move(late)] { return *has_returned ? std::nullopt : std::optional(late); };
  co_return std::nullopt;
}

Task<Result<std::shared_ptr<Module>>> load_in_process(asio::io_context& core, Clock& clock, ModuleConfig config,
                                                      ModuleBuild build, Instant deadline, SharedParts shared,
                                                      Leftover& left) {
  auto lane = std::make_unique<Lane>("cage/" + config.name);
  auto work = [config, build, alone = shared.alone] { return load_and_check(config, *build, alone); };
  const Error stuck = stuck_while_loaded(config.name);
  auto loaded = co_await run_on(lane, core, clock, deadline, std::move(work), stuck.message, left);
  if (!loaded) co_return std::unexpected(stuck);
  if (!*loaded) co_return std::unexpected(loaded->error());
  auto& [module, parts] = **loaded;
  parts.node = node_work(config, std::move(shared));
  co_return std::make_shared<InProcessModule>(core, clock, std::move(lane), std::move(module), std::move(parts));
}

Result<WorkerProcess::Program> worker_program(const ProcessConfig& config) {
  auto file = worker_file();
  if (!file) return std::unexpected(file.error());
  WorkerProcess::Program program{std::move(*file), {}, {}};
  std::set<std::string> names{"PATH", "LANG", "TZ"};
  names.insert(config.environment.begin(), config.environment.end());
  for (const std::string& name : names)
    if (const auto value = process_environment(name)) program.environment.push_back(name + "=" + *value);
  return program;
}

std::uint32_t log_level() {
  std::uint32_t level = 0;
  while (level < static_cast<std::uint32_t>(LogLevel::kError) && !log_enabled(static_cast<LogLevel>(level))) ++level;
  return level;
}

wire::Request load_request(const ModuleConfig& config, const StagedModule& staged) {
  wire::Request request;
  wire::Load& load = *request.mutable_load();
  load.set_build(std::string(version()));
  load.set_module(config.name);
  load.set_path(staged.path.native());
  load.set_sha256(staged.sha256);
  load.set_run_path(staged.elf.run_path);
  load.set_log_level(log_level());
  wire::Confinement& confinement = *load.mutable_confinement();
  for (const auto& [word, resource] : kProcessLimits) {
    const auto limit = config.process.limits.find(std::string(word));
    if (limit == config.process.limits.end()) continue;
    confinement.add_limits()->set_resource(static_cast<std::uint32_t>(resource));
    confinement.mutable_limits()->rbegin()->set_value(limit->second);
  }
  confinement.set_user(config.process.user);
  confinement.set_keep_capabilities(!config.process.capabilities && config.process.user.empty());
  if (config.process.capabilities) write(*config.process.capabilities, *confinement.mutable_capabilities());
  confinement.set_seccomp(config.process.seccomp);
  return request;
}

Task<Result<std::shared_ptr<Module>>> load_in_worker(asio::io_context& core, Clock& clock, ModuleConfig config,
                                                     ModuleBuild build, Instant deadline, SharedParts shared,
                                                     Leftover& left) {
  auto program = worker_program(config.process);
  if (!program) co_return within(program.error(), "module '{}'", config.name);
  if (shared.groups) program->group = shared.groups->make(config.name);
  auto link = WorkerLink::start(core, clock, config.name, *program, build->image.get());
  if (!link) co_return std::unexpected(link.error());
  left = leftover_of(config.name, (*link)->process().child());
  const OneShot<Result<wire::Answer>> loaded(core);
  (*link)->listen(
      {.reported = {}, .ended = [loaded, name = config.name](const std::string& how) {
         loaded.set(
             fail(Code::kUnavailable,
                  "module '{}' cannot be loaded: its worker {}; perhaps a constructor, its entry or its table is "
                  "at fault: run 'cagectl module check --in-process' with it in a debugger",
                  name, how));
       }});
  auto told =
      (*link)->call(0, load_request(config, *build), {}, [loaded](const wire::Answer& answer) { loaded.set(answer); });
  if (!told) co_return std::unexpected(told.error());
  const auto outcome = co_await loaded.wait_until(clock, deadline);
  if (!outcome) co_return std::unexpected(stuck_while_loaded(config.name));
  const Result<wire::Answer>& answer = *outcome;
  if (!answer) co_return std::unexpected(answer.error());
  if (answer->code() != 0) co_return fail(static_cast<Code>(answer->code()), "{}", answer->message());
  ModuleIdentity identity = read(answer->identity());
  identity.sha256 = build->sha256;
  auto options = checked_options(config, identity.options);
  if (!options) co_return std::unexpected(options.error());
  RunningModule::Parts parts{config.name, std::move(identity), std::move(*options),
                             node_work(config, std::move(shared))};
  co_return std::make_shared<RemoteModule>(core, clock, std::move(*link), std::move(parts));
}

}  // namespace

std::unexpected<Error> must_run_in_process(const ModuleConfig& config) {
  return fail(Code::kFailedPrecondition,
              "module '{}' must run in a process of its own: set isolation = \"process\" at {}", config.name,
              config.position.to_string());
}

Task<Result<ModuleBuild>> stage_module(asio::io_context& core, Clock& clock, ModuleConfig config,
                                       std::vector<std::filesystem::path> modules_dirs, Instant deadline,
                                       Leftover* left) {
  auto lane = std::make_unique<Lane>("cage/" + config.name);
  const Error unreadable{
      Code::kDeadlineExceeded,
      fmt::format("module '{}': its file cannot be read in time: is the disk healthy?", config.name)};
  Leftover remains;
  auto work = [config, modules_dirs] { return stage(modules_dirs, config.path, config.sha256); };
  auto staged = co_await run_on(lane, core, clock, deadline, std::move(work), unreadable.message, remains);
  if (left) *left = std::move(remains);
  if (!staged) co_return std::unexpected(unreadable);
  if (!*staged && staged->error().code == Code::kNotFound)
    co_return within(staged->error(), "{}: module '{}'", config.position.to_string(), config.name);
  if (!*staged) co_return within(staged->error(), "module '{}'", config.name);
  co_return std::make_shared<const StagedModule>(std::move(**staged));
}

Task<Result<std::shared_ptr<Module>>> load_module(asio::io_context& core, Clock& clock, ModuleConfig config,
                                                  ModuleBuild build, Instant deadline, SharedParts shared,
                                                  Leftover* left) {
  if (!shared.writes) shared.writes = std::make_shared<HardwareWrites>(core, clock);
  Leftover remains = shared.groups ? shared.groups->left_behind(config.name) : Leftover();
  if (const auto reason = remains ? remains() : std::nullopt) {
    if (left) *left = std::move(remains);
    co_return fail(Code::kUnavailable, "{}", *reason);
  }
  const bool in_worker = config.isolation == Isolation::kProcess;
  const std::string name = config.name;
  auto load = in_worker ? load_in_worker : load_in_process;
  auto loading = load(core, clock, std::move(config), std::move(build), deadline, std::move(shared), remains);
  auto loaded = co_await std::move(loading);
  if (!loaded && left) *left = std::move(remains);
  if (const std::string note = loaded ? abi_note((*loaded)->identity().abi) : std::string(); !note.empty())
    log(LogLevel::kWarn, "module is built for an older ABI", {{"module", name}, {"note", note}});
  co_return loaded;
}

}  // namespace cardcage
