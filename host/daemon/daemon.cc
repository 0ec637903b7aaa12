#include "host/daemon/daemon.h"

#include <utility>

#include "host/claim/recovery.h"
#include "host/core/memory.h"
#include "host/core/version.h"
#include "host/daemon/daemon_run.h"
#include "host/view/device_holders.h"

namespace cardcage {
namespace {

// The time from SIGTERM to the end of all calls. Modules stop after that, and a pod's default grace period is 30 s.
constexpr Duration kStopLimit = std::chrono::seconds(15);
// A kubelet looks at new sockets each second.
constexpr Duration kHandOverLimit = std::chrono::seconds(4);
// The first slices and lists of devices are published long before.
constexpr Duration kStart = std::chrono::seconds(10);
// The interval at which modules, drivers and resources that are not configured any more are removed if nothing holds
// them. That depends on claims, calls and pods, so it is polled, and only while something drains.
constexpr Duration kTidyInterval = std::chrono::seconds(1);

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::create(Config config, std::filesystem::path config_file, Restarts restarts,
                                               FaultHook fault, OrphanPace orphan_pace) {
  auto foundation = Foundation::open(std::move(config), std::move(fault));
  if (!foundation) return std::unexpected(foundation.error());
  return std::make_unique<Daemon>(std::move(*foundation), std::move(config_file), std::move(restarts), orphan_pace);
}

Status run_daemon(Config config, std::filesystem::path config_file, Restarts restarts) {
  auto daemon = Daemon::create(std::move(config), std::move(config_file), std::move(restarts));
  if (!daemon) return std::unexpected(daemon.error());
  (*daemon)->run();
  return {};
}

Daemon::Daemon(std::unique_ptr<Foundation> foundation, std::filesystem::path config_file, Restarts restarts,
               OrphanPace orphan_pace)
    : base_(std::move(foundation)),
      config_(base_->config),
      clock_(base_->clock),
      core_(base_->core),
      restarts_(std::move(restarts)),
      live_config_(core_, clock_, std::move(config_file), config_,
                   [this](Config wanted, const ConfigPlan& plan) { apply(std::move(wanted), plan); }),
      table_(core_, clock_, config_.node),
      access_(core_, clock_, config_, *base_->ledger, base_->fault),
      features_(config_.node.features_dir, config_.node.instance),
      node_events_(core_, clock_, *base_->cluster, config_.node.name),
      supervisors_(supervisors_environment(), config_.node.modules_dirs),
      pod_entry_(pod_entry_parts()),
      duties_(access_.services(), pod_entry_, [this](const std::string& module) { partition_changed(module); }),
      serving_(*base_, table_, counters_.calls, duties_, orphan_pace,
               [this] { return wants_claim_users(supervisors_, *base_->ledger); }),
      operators_(view_parts(), counters_, serving_.pods(), serving_.pods_wanted()),
      run_files_(core_, clock_, [this] { return restore_files(); },
                 {config_.node.run_dir, pod_entry_.hook_file().folder(), config_.node.admin_socket.parent_path(),
                  config_.node.read_only_socket.parent_path()}) {
  for (const ModuleConfig& module : config_.modules)
    for (const CauseRecord& known : base_->ledger->health().causes(module.name)) node_events_.remember(known);
  access_.stuck().listen([this](const std::string& module) {
    if (Supervisor* const supervisor = supervisors_.find(module)) supervisor->stuck_changed();
  });
  operators_.pages().open(config_.metrics.listen);
  // Drivers with claims in the ledger have their sockets before any module runs, because the kubelet may need to
  // unprepare.
  serve(plan_change({}, config_));
}

Supervisors::Environment Daemon::supervisors_environment() {
  Ledger& ledger = *base_->ledger;
  return {.core = core_,
          .clock = clock_,
          .loader = access_.loader(),
          .quiesced = access_.quiesced(),
          .health = ledger.health(),
          .listener = {[this](const Supervisor& supervisor, SupervisorEvent event) { changed(supervisor, event); },
                       [this, &ledger](const std::string& module) { return live_claims(ledger, table_, module); },
                       base_->fault, &access_.events(),
                       [this](const std::string& module, const std::string& device) {
                         return access_.stuck().health({module, device});
                       },
                       [this, &ledger](const std::string& module, const Device& device) {
                         return why_replaced(table_, ledger, module, device);
                       },
                       [this](const HealthEvent& event) { note(event); },
                       [this, &ledger](const Supervisor& supervisor, const Device& device) {
                         return holder_names(table_, ledger, supervisor, device);
                       }},
          .arranged = [this, &ledger](const auto& modules) { table_.arrange(modules, held_resources(ledger)); },
          .held = [this, &ledger](const std::string& module) { return count_claims(ledger, table_, module); }};
}

PodEntry::Parts Daemon::pod_entry_parts() {
  return {.core = core_,
          .clock = clock_,
          .node = config_.node,
          .hook_program = base_->hook_program,
          .ledger = *base_->ledger,
          .devices = table_,
          .alone = [this](std::string name, ClaimRef claim, std::function<Task<Status>()> work) -> Task<Status> {
            Driver* const driver = serving_.drivers().find(name);
            if (driver == nullptr) co_return fail(Code::kUnavailable, "driver '{}' is not served", name);
            co_return co_await driver->claims().run_alone(std::move(claim), std::move(work));
          }};
}

OperatorView::Parts Daemon::view_parts() {
  return {.core = core_,
          .clock = clock_,
          .config = config_,
          .restarts = restarts_,
          .started = started_,
          .begun = begun_,
          .stopping = stopping_,
          .live_config = live_config_,
          .ledger = *base_->ledger,
          .claims = serving_.claims(),
          .claim_statuses = serving_.statuses(),
          .table = table_,
          .stuck = access_.stuck(),
          .services = access_.services(),
          .supervisors = supervisors_,
          .drivers = serving_.drivers(),
          .resources = serving_.resources(),
          .pods = serving_.pods(),
          .pods_watch = serving_.pods_watch(),
          .hook_file = pod_entry_.hook_file(),
          .events = access_.events(),
          .features = features_,
          .changes = base_->changes,
          .nri = pod_entry_.nri(),
          .problems = [this] {
            std::vector<std::string> problems = run_files_.problems();
            const std::string& pages = operators_.pages().error();
            if (!pages.empty()) problems.push_back("metrics are not served: " + pages);
            return problems;
          }};
}

void Daemon::apply(Config wanted, const ConfigPlan& plan) {
  const bool metrics_moved = wanted.metrics.listen != config_.metrics.listen;
  config_ = effective_config(config_, std::move(wanted));
  configure_log(config_.log.level, config_.log.format);
  if (metrics_moved) operators_.pages().open(config_.metrics.listen);
  access_.judge_services();
  serve(plan);
  if (base_->fault) base_->fault(FaultPoint::kAfterReload);
}

// Modules come first: drivers and resources are made from the table, which their supervisors fill.
void Daemon::serve(const ConfigPlan& plan) {
  supervisors_.configure(config_, plan);
  serving_.configure(plan.affected);
  tidy_.wake();
}

Task<void> Daemon::tidy() {
  while (!stopping_) {
    co_await supervisors_.tidy();
    co_await serving_.tidy();
    update_labels();
    const bool again = supervisors_.untidy() || serving_.untidy();
    if (stopping_) break;
    if (again)
      co_await tidy_.wait_for(clock_, kTidyInterval);
    else
      co_await tidy_.wait();
  }
}

Task<void> Daemon::reload_on_signal() {
  while (!stopping_) {
    boost::system::error_code cancelled;
    co_await reload_signals_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    if (cancelled || stopping_) break;
    supervisors_.retry();
    live_config_.reload(false);
  }
}

void Daemon::note(const HealthEvent& event) {
  if (modules_end_) return;
  counters_.health.note(event);
  node_events_.record(event);
  base_->changes.note({Section::kHealth, Section::kDevices});
}

void Daemon::partition_changed(const std::string& module) {
  for (const Supervisor* supervisor : supervisors_.all())
    if (supervisor->config().name == module) serving_.refresh(*supervisor, SupervisorEvent::kHealth);
  base_->changes.note({Section::kDevices});
}

void Daemon::changed(const Supervisor& supervisor, SupervisorEvent event) {
  if (modules_end_) return;
  if (is_of_module(event)) {
    table_.refresh(supervisor);
    const auto& identity = supervisor.identity();
    if (identity && identity->has(Family::kSandbox)) pod_entry_.listen_to_runtime(loops_);
  }
  serving_.refresh(supervisor, event);
  if (is_of_module(event) && (!supervisor.draining().empty() || serving_.resources().untidy())) tidy_.wake();
  if (is_of_module(event) || event == SupervisorEvent::kLabels) update_labels();
  base_->changes.note({Section::kModules, Section::kDevices});
}

// The file stays while any module may still report labels, so that a restart of the daemon does not remove and restore
// them. A module that is quiesced or does not start keeps the labels that the previous daemon wrote.
void Daemon::update_labels() {
  if (modules_end_) return;
  std::vector<ModuleLabels> labels;
  for (const Supervisor* supervisor : supervisors_.all()) {
    if (supervisor->labels_pending()) return;
    labels.push_back({supervisor->config().name, supervisor->labels(), supervisor->labels_known()});
  }
  features_.update(std::move(labels));
}

std::vector<Status> Daemon::restore_files() {
  update_labels();
  std::vector<Status> all = {base_->ledger->restore_intents(), pod_entry_.restore()};
  for (const auto& more : {access_.restore(), operators_.restore()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

void Daemon::run() {
  log(LogLevel::kInfo, fmt::format("cardcage {} starts", version()),
      {{"node", config_.node.name}, {"config", live_config_.file().native()}, {"modules", config_.modules.size()}});
  spawn(core_, supervisors_.watch_files());
  loops_.spawn(live_config_.run());
  loops_.spawn(reload_on_signal());
  loops_.spawn(tidy());
  serving_.run(loops_);
  loops_.spawn(run_files_.run());
  spawn(core_, node_events_.run());  // shutdown must not wait for the API server
  started_up_.call_after(kStart, release_startup_memory);
  spawn(core_, stop_on_signal());
  core_.run();
}

Task<void> Daemon::stop_on_signal() {
  boost::system::error_code ignored;
  const int number = co_await base_->stop_signals.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  log(LogLevel::kInfo, "stopping", {{"signal", number}});
  co_await shut_down();
  core_.stop();
}

// Prepared claims stay as they are: their pods keep running.
Task<void> Daemon::shut_down() {
  co_await base_->hand_over.give(core_, clock_, clock_.now() + kHandOverLimit);
  const Instant deadline = clock_.now() + kStopLimit;
  stopping_ = true;
  live_config_.stop();
  reload_signals_.cancel();
  tidy_.wake();
  run_files_.stop();
  serving_.stop_loops();
  pod_entry_.stop_listening();
  co_await loops_.join(clock_, deadline);
  // Drivers first: the kubelet repeats their calls. It rejects a pod whose resource is not served, so resources keep
  // their streams and lists until nothing else holds the next daemon back.
  co_await pod_entry_.stop(deadline);
  co_await serving_.drivers().stop(deadline);
  co_await supervisors_.finish_calls(deadline);
  modules_end_ = true;
  access_.stuck().listen({});
  co_await supervisors_.stop();
  co_await serving_.resources().stop(deadline);
  co_await operators_.stop();
}

}  // namespace cardcage
