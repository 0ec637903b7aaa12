#include "host/daemon.h"

#include <utility>

#include "host/apiserver/api_server.h"
#include "host/apiserver/embedded_node.h"
#include "host/claim/recovery.h"
#include "host/core/file.h"
#include "host/core/lock_holder.h"
#include "host/core/memory.h"
#include "host/core/version.h"
#include "host/daemon_run.h"
#include "host/module/load.h"
#include "host/view/device_holders.h"

namespace cardcage {
namespace {

// The time from SIGTERM to the end of all calls. Modules stop after that, and a pod's default grace period is 30 s.
constexpr Duration kStopLimit = std::chrono::seconds(15);
// A kubelet looks at new sockets each second.
constexpr Duration kHandOverLimit = std::chrono::seconds(4);
// The first slices and lists of devices are published long before.
constexpr Duration kStart = std::chrono::seconds(10);
// The limit for one claim, whose module may be slow.
constexpr Duration kRefitLimit = std::chrono::minutes(2);
// Short, because no daemon serves the node from the end of the previous one until the next attempt.
constexpr Duration kLedgerRetry = std::chrono::milliseconds(20), kLedgerLogInterval = std::chrono::seconds(30);
// A name other than "services", which holds the pipes that services print to.
constexpr const char* kServiceRecords = "service-records";

// Works across file systems.
void move_folder(const std::filesystem::path& from, const std::filesystem::path& to) {
  using Options = std::filesystem::copy_options;
  std::error_code failed;
  if (!std::filesystem::exists(from, failed)) return;
  std::filesystem::copy(from, to, Options::recursive | Options::overwrite_existing, failed);
  if (!failed) std::filesystem::remove_all(from, failed);
  if (failed)
    log(LogLevel::kError, "records of an earlier version are not taken over",
        {{"folder", from.native()}, {"to", to.native()}, {"error", failed.message()}});
}

// The first process that holds a lock on one of the files.
std::string holder_of(std::initializer_list<std::filesystem::path> locked) {
  for (const auto& path : locked)
    if (const auto pid = lock_holder(path)) return fmt::format("process {}", *pid);
  return "a process of another PID namespace";
}

}  // namespace

Daemon::Daemon(Config config, std::filesystem::path config_file, Restarts restarts, FaultHook fault,
               OrphanPace orphan_pace)
    : config_(std::move(config)),
      restarts_(std::move(restarts)),
      fault_(std::move(fault)),
      orphan_pace_(orphan_pace),
      live_config_(core_, clock_, std::move(config_file), config_,
                   [this](Config wanted, const ConfigPlan& plan) { apply(std::move(wanted), plan); }),
      hand_over_(config_.node.run_dir / "next"),
      cdi_(config_.node.cdi_dir, config_.node.run_dir / "metadata"),
      table_(core_, clock_, config_.node),
      attachments_(config_.node.run_dir / kAttachmentsFolder),
      features_(config_.node.features_dir, config_.node.instance),
      kubelet_(KubeletSockets::below(config_.node.kubelet_root, config_.node.device_plugins_dir)) {
  writes_->sysfs = config_.node.roots.sysfs;
  writes_->fault = fault_;
}

Result<std::unique_ptr<Daemon>> Daemon::create(Config config, std::filesystem::path config_file, Restarts restarts,
                                               FaultHook fault, OrphanPace orphan_pace) {
  std::unique_ptr<Daemon> daemon(
      new Daemon(std::move(config), std::move(config_file), std::move(restarts), std::move(fault), orphan_pace));
  if (auto opened = daemon->open(); !opened) {
    daemon->close_standby();
    return std::unexpected(opened.error());
  }
  return daemon;
}

Status run_daemon(Config config, std::filesystem::path config_file, Restarts restarts) {
  auto daemon = Daemon::create(std::move(config), std::move(config_file), std::move(restarts));
  if (!daemon) return std::unexpected(daemon.error());
  (*daemon)->run();
  return {};
}

Status Daemon::open() {
  if (auto made = make_folder(config_.node.state_dir, 0700); !made) return made;
  if (auto opened = open_ledger(); !opened) return opened;
  if (auto opened = open_cluster(); !opened) return opened;
  groups_ = std::make_unique<WorkerGroups>(config_.node.run_dir);
  open_records();
  adopt_services();
  node_events_ = std::make_unique<EventRecorder>(core_, clock_, *cluster_, config_.node.name);
  claim_statuses_ = std::make_unique<ClaimStatuses>(core_, clock_, *cluster_);
  for (const auto& [key, claim] : ledger_->claims())
    if (claim->phase == ClaimPhase::kPrepared) claim_statuses_->restore(*claim);
  for (const ModuleConfig& module : config_.modules)
    for (const CauseRecord& known : ledger_->health().causes(module.name)) node_events_->remember(known);
  supervisors_ = std::make_unique<Supervisors>(supervisors_environment(), config_.node.modules_dirs);
  writes_->stuck->listen([this](const std::string& module) {
    if (Supervisor* const supervisor = supervisors_->find(module)) supervisor->stuck_changed();
  });
  create_pods_watch();
  create_served_names();
  if (auto opened = open_sandboxes(); !opened) return opened;
  create_orphan_search();
  create_view();
  admin_.push_back(std::make_unique<AdminServer>(core_, clock_, config_.node.admin_socket, *view_));
  if (const NodeConfig& node = config_.node; !node.read_only_socket.empty())
    admin_.push_back(std::make_unique<AdminServer>(
        core_, clock_, ReadOnlySocket{node.read_only_socket, node.read_only_group}, *view_));
  pages_->open(config_.metrics.listen);
  // No step may fail from here on: whatever serves a name must be stopped before it goes. Drivers with claims in the
  // ledger have their sockets before any module runs, because the kubelet may need to unprepare.
  serve(plan_change({}, config_));
  remove_left_sockets();
  return {};
}

// These records end with the boot and must not wait for a disk. Earlier versions kept them in state_dir.
void Daemon::open_records() {
  const NodeConfig& node = config_.node;
  for (const auto& [before, now] :
       {std::pair("drivers", "drivers"), std::pair("quiesced", "quiesced"), std::pair("services", kServiceRecords)})
    move_folder(node.state_dir / before, node.run_dir / now);
  writes_->records = std::make_unique<DriverRecords>(node.run_dir / "drivers", ledger_->boot_id());
  quiesced_ = std::make_unique<QuiesceMarks>(node.run_dir / "quiesced", ledger_->boot_id());
}

void Daemon::adopt_services() {
  const NodeConfig& node = config_.node;
  std::filesystem::path groups = node.services_cgroup;
  if (groups.empty()) groups = find_control_group().value_or("");
  services_ = std::make_shared<Services>(core_, clock_,
                                         Services::Places{.records = node.run_dir / kServiceRecords,
                                                          .outputs = node.run_dir / "services",
                                                          .groups = std::move(groups),
                                                          .boot_id = ledger_->boot_id()},
                                         fault_);
  services_->adopt(
      [this](const ServiceKey& service) {
        return std::ranges::any_of(ledger_->claims(), [&](const auto& claim) {
          return claim.first.uid == service.claim_uid &&
                 std::ranges::any_of(claim.second->parts,
                                     [&](const auto& part) { return part.module == service.module; });
        });
      },
      judge_of_services());
}

Services::Judge Daemon::judge_of_services() const {
  return [this](const ServiceKey& service, const ProgramCommand& command) -> Result<ProgramCommand> {
    const auto module = std::ranges::find(config_.modules, service.module, &ModuleConfig::name);
    if (module != config_.modules.end()) return ProgramRules(*module, config_.node.roots.driver).renew(command);
    // The module drains with the permissions that it had, or got another name.
    if (supervisors_) return command;
    for (const ModuleConfig& other : config_.modules)
      if (auto renewed = ProgramRules(other, config_.node.roots.driver).renew(command)) return renewed;
    return fail(Code::kPermissionDenied, "no [[module]] allows '{}' any more: add it to the key programs of one",
                command.file.native());
  };
}

Status Daemon::open_cluster() {
  if (!config_.node.claims_folder.empty()) {
    auto node = EmbeddedNode::make(core_, clock_, config_.node.claims_folder);
    if (!node) return std::unexpected(node.error());
    cluster_ = std::move(*node);
    return {};
  }
  auto server = ApiServer::make(core_, clock_, config_.apiserver);
  if (!server) return std::unexpected(server.error());
  cluster_ = std::move(*server);
  return {};
}

// During a rolling update the previous daemon keeps the ledger until its sockets are removed and its calls are
// finished. No resource is served before that, because kubelets up to 1.36 confuse two instances of one.
Result<std::unique_ptr<Ledger>> Daemon::wait_for_ledger() {
  auto boot_id = read_boot_id();
  if (!boot_id) return std::unexpected(boot_id.error());
  const LedgerOptions options{.file = config_.node.state_dir / "ledger.db",
                              .intents = config_.node.run_dir / "intents",
                              .cdi_folder = config_.node.cdi_dir,
                              .boot_id = *boot_id,
                              .history = {},
                              .fault = fault_,
                              .changes = &changes_};
  auto ledger = Ledger::open(core_, clock_, options);
  if (ledger || ledger.error().code != Code::kAborted) return ledger;
  hand_over_.wait();
  bool stop = false;
  stop_signals_.async_wait([&](const boost::system::error_code& cancelled, int) {
    if (cancelled) return;
    stop = true;
    core_.stop();
  });
  for (Duration waited{}; !ledger && ledger.error().code == Code::kAborted && !stop; waited += kLedgerRetry) {
    if (waited % kLedgerLogInterval == Duration::zero())
      log(LogLevel::kInfo, "waiting for another cardcage to exit",
          {{"error", ledger.error().message},
           {"held_by", holder_of({config_.node.run_dir, options.file})},
           {"remedy", "stop it, or give this daemon a run_dir and a state_dir of its own"}});
    core_.run_for(kLedgerRetry);
    core_.restart();
    stand_by();
    ledger = Ledger::open(core_, clock_, options);
  }
  hand_over_.end();
  stop_signals_.cancel();
  core_.poll();
  core_.restart();
  if (stop) return fail(Code::kAborted, "stopped while waiting for another cardcage to exit");
  return ledger;
}

Status Daemon::open_ledger() {
  auto ledger = wait_for_ledger();
  if (!ledger) return std::unexpected(ledger.error());
  ledger_ = std::move(*ledger);
  const CdiRecovery recovery = recover_cdi(*ledger_, cdi_);
  for (const Error& problem : recovery.problems) log(LogLevel::kError, problem.message);
  if (!ledger_->claims().empty() || recovery.removed > 0) {
    log(LogLevel::kInfo, "claims loaded from the ledger",
        {{"claims", ledger_->claims().size()},
         {"cdi_files_written", recovery.written},
         {"cdi_files_removed", recovery.removed}});
  }
  cdi_keeper_ = std::make_unique<CdiKeeper>(
      core_, clock_, *ledger_, cdi_, [this](std::vector<ClaimKey> claims) { spawn(core_, refit(std::move(claims))); });
  return {};
}

// The kubelet repeats a prepare when it starts, but containers start at any time, with the files that the CDI file
// names.
Task<void> Daemon::refit(std::vector<ClaimKey> claims) {
  for (const ClaimKey& key : claims) {
    if (stopping_) co_return;
    const Instant deadline = clock_.now() + kRefitLimit;
    const std::string name = key.served().name;
    if (key.served().is_resource()) {
      if (Resource* const resource = resources_->find(name)) co_await resource->allocator().refit(key.uid, deadline);
    } else if (Driver* const driver = drivers_->find(name)) {
      co_await driver->refit(key.uid, deadline);
    }
  }
}

Supervisors::Environment Daemon::supervisors_environment() {
  return {.core = core_,
          .clock = clock_,
          .loader = {.stage =
                         [this](const ModuleConfig& module, Instant deadline, Leftover& left) {
                           return stage_module(core_, clock_, module, config_.node.modules_dirs, deadline, &left);
                         },
                     .load =
                         [this](const ModuleConfig& module, ModuleBuild build, Instant deadline, Leftover& left) {
                           return load_module(core_, clock_, module, std::move(build), deadline,
                                              {groups_.get(), writes_, services_, config_.node.roots}, &left);
                         }},
          .quiesced = *quiesced_,
          .health = ledger_->health(),
          .listener = {[this](const Supervisor& supervisor, SupervisorEvent event) { changed(supervisor, event); },
                       [this](const std::string& module) { return live_claims(*ledger_, table_, module); }, fault_,
                       &events_,
                       [this](const std::string& module, const std::string& device) {
                         return writes_->stuck->health({module, device});
                       },
                       [this](const std::string& module, const Device& device) {
                         return why_replaced(table_, *ledger_, module, device);
                       },
                       [this](const HealthEvent& event) { note(event); },
                       [this](const Supervisor& supervisor, const Device& device) {
                         return holder_names(table_, *ledger_, supervisor, device);
                       }},
          .arranged = [this](const auto& modules) { table_.arrange(modules, held_resources(*ledger_)); },
          .held = [this](const std::string& module) { return count_claims(*ledger_, table_, module); }};
}

void Daemon::create_pods_watch() {
  const NodeConfig& node = config_.node;
  claims_ = std::make_unique<ClaimReader>(core_, clock_, *cluster_, [this](std::string uid, Instant deadline) {
    return pods_watch_->has_pod(std::move(uid), deadline);
  });
  pods_watch_ = std::make_unique<PodsWatch>(
      core_, clock_, kubelet_, KubeletSockets::below(node.kubelet_root, node.device_plugins_dir).pods,
      PodsWatch::Listener{.gone = [this] { pods_->nudge(); },
                          .coming = [this](ComingPod pod) { claims_->expect(std::move(pod)); },
                          .left = [this](const std::string& uid) { claims_->forget(uid); }},
      static_cast<std::uint32_t>(std::hash<std::string>{}(node.name)));
}

void Daemon::create_served_names() {
  const ServingContext context{.core = core_,
                               .clock = clock_,
                               .config = config_,
                               .cluster = *cluster_,
                               .claims = *claims_,
                               .ledger = *ledger_,
                               .cdi = cdi_,
                               .table = table_,
                               .kubelet = kubelet_,
                               .meter = counters_.calls,
                               .handed_out = [this] { pods_->nudge(); },
                               .host = *this,
                               .statuses = *claim_statuses_,
                               .standby = standby_,
                               .fault = fault_};
  drivers_ = std::make_unique<Drivers>(context);
  resources_ = std::make_unique<Resources>(context);
  const NodeConfig& node = config_.node;
  pods_ = std::make_unique<PodReconciler>(
      core_, clock_, kubelet_, *resources_, KubeletSockets::below(node.kubelet_root, node.device_plugins_dir),
      *pods_watch_,
      PodReconcilerOptions{.kubelet_root = node.kubelet_root,
                           .device_plugins = node.device_plugins_dir,
                           .jitter_seed = static_cast<std::uint32_t>(std::hash<std::string>{}(node.name)),
                           .claims_wanted = [this] { return wants_claim_users(*supervisors_, *ledger_); }});
}

// On the embedded node, files stand for claims, and only their owner knows whether a deleted one comes back.
void Daemon::create_orphan_search() {
  if (!config_.node.claims_folder.empty()) return;
  OrphanedClaims::Release release = [this](std::string name, ClaimRef claim, TurnCheck check) -> Task<Status> {
    Driver* const driver = drivers_->find(name);
    if (!driver) co_return fail(Code::kUnavailable, "it is not served");
    co_return co_await driver->unprepare(std::move(claim), std::move(check));
  };
  orphans_ = std::make_unique<OrphanedClaims>(core_, clock_, *cluster_, *ledger_, config_.node.kubelet_root,
                                              std::move(release), orphan_pace_);
}

void Daemon::create_view() {
  view_ = std::make_unique<OperatorView>(OperatorView::Parts{.core = core_,
                                                             .clock = clock_,
                                                             .config = config_,
                                                             .restarts = restarts_,
                                                             .started = started_,
                                                             .begun = begun_,
                                                             .stopping = stopping_,
                                                             .live_config = live_config_,
                                                             .ledger = *ledger_,
                                                             .claims = *claims_,
                                                             .claim_statuses = *claim_statuses_,
                                                             .table = table_,
                                                             .stuck = *writes_->stuck,
                                                             .services = *services_,
                                                             .supervisors = *supervisors_,
                                                             .drivers = *drivers_,
                                                             .resources = *resources_,
                                                             .pods = *pods_,
                                                             .hook_file = *hook_file_,
                                                             .events = events_,
                                                             .features = features_,
                                                             .changes = changes_,
                                                             .nri = nri_,
                                                             .problems = [this] { return problems(); }});
  pages_ = std::make_unique<Pages>(Pages::Environment{.core = core_,
                                                      .clock = clock_,
                                                      .view = *view_,
                                                      .counters = counters_,
                                                      .config = live_config_,
                                                      .supervisors = *supervisors_,
                                                      .ledger = *ledger_,
                                                      .pods = *pods_,
                                                      .pods_wanted = pods_wanted_});
}

std::vector<std::string> Daemon::problems() const {
  std::vector<std::string> problems = run_file_problems_;
  if (!pages_->error().empty()) problems.push_back("metrics are not served: " + pages_->error());
  return problems;
}

void Daemon::note(const HealthEvent& event) {
  if (modules_end_) return;
  counters_.health.note(event);
  node_events_->record(event);
  changes_.note({Section::kHealth, Section::kDevices});
}

Task<void> Daemon::reconcile_pods() {
  while (resources_->all().empty() && !wants_claim_users(*supervisors_, *ledger_) && !stopping_)
    co_await pods_wanted_.wait();
  if (!stopping_) co_await pods_->run();
}

void Daemon::partition_changed(const std::string& module) {
  for (const Supervisor* supervisor : supervisors_->all()) {
    if (supervisor->config().name != module) continue;
    drivers_->refresh(*supervisor, SupervisorEvent::kHealth);
    resources_->refresh(*supervisor, SupervisorEvent::kHealth);
  }
  changes_.note({Section::kDevices});
}

void Daemon::changed(const Supervisor& supervisor, SupervisorEvent event) {
  if (modules_end_) return;
  if (is_of_module(event)) {
    table_.refresh(supervisor);
    listen_to_runtime(supervisor);
  }
  drivers_->refresh(supervisor, event);
  resources_->refresh(supervisor, event);
  if (is_of_module(event)) {
    if (!supervisor.draining().empty() || resources_->untidy()) tidy_.wake();
    if (!resources_->all().empty() || wants_claim_users(*supervisors_, *ledger_)) pods_wanted_.wake();
  }
  if (is_of_module(event) || event == SupervisorEvent::kLabels) update_labels();
  changes_.note({Section::kModules, Section::kDevices});
}

// The file stays while any module may still report labels, so that a restart of the daemon does not remove and restore
// them. A module that is quiesced or does not start keeps the labels that the previous daemon wrote.
void Daemon::update_labels() {
  if (modules_end_) return;
  std::vector<ModuleLabels> labels;
  for (const Supervisor* supervisor : supervisors_->all()) {
    if (supervisor->labels_pending()) return;
    labels.push_back({supervisor->config().name, supervisor->labels(), supervisor->labels_known()});
  }
  features_.update(std::move(labels));
}

void Daemon::run() {
  log(LogLevel::kInfo, fmt::format("cardcage {} starts", version()),
      {{"node", config_.node.name}, {"config", live_config_.file().native()}, {"modules", config_.modules.size()}});
  spawn(core_, standby_.close());
  spawn(core_, supervisors_->watch_files());
  loops_.spawn(live_config_.run());
  loops_.spawn(reload_on_signal());
  loops_.spawn(tidy());
  loops_.spawn(pods_watch_->run());
  loops_.spawn(reconcile_pods());
  loops_.spawn(keep_run_files());
  std::vector<ClaimKey> claims;
  for (const auto& [key, claim] : ledger_->claims()) claims.push_back(key);
  spawn(core_, refit(std::move(claims)));
  // Not among the loops: shutdown must not wait for the API server.
  spawn(core_, node_events_->run());
  spawn(core_, claim_statuses_->run());
  if (orphans_) spawn(core_, orphans_->run());
  started_up_.call_after(kStart, release_startup_memory);
  spawn(core_, stop_on_signal());
  core_.run();
}

Task<void> Daemon::stop_on_signal() {
  boost::system::error_code ignored;
  const int number = co_await stop_signals_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  log(LogLevel::kInfo, "stopping", {{"signal", number}});
  co_await shut_down();
  core_.stop();
}

// Prepared claims stay as they are: their pods keep running.
Task<void> Daemon::shut_down() {
  co_await hand_over_.give(core_, clock_, clock_.now() + kHandOverLimit);
  const Instant deadline = clock_.now() + kStopLimit;
  stopping_ = true;
  live_config_.stop();
  reload_signals_.cancel();
  tidy_.wake();
  pods_wanted_.wake();
  run_files_changed_.wake();
  pods_->stop();
  pods_watch_->stop();
  if (orphans_) orphans_->stop();
  if (nri_) nri_->stop();
  co_await loops_.join(clock_, deadline);
  // Drivers first: the kubelet repeats their calls. It rejects a pod whose resource is not served, so resources keep
  // their streams and lists until nothing else holds the next daemon back.
  co_await hooks_->stop(deadline);
  co_await drivers_->stop(deadline);
  co_await supervisors_->finish_calls(deadline);
  modules_end_ = true;
  writes_->stuck->listen({});
  co_await supervisors_->stop();
  co_await resources_->stop(deadline);
  pages_->open("");
  for (const auto& admin : admin_) co_await admin->stop();
}

}  // namespace cardcage
