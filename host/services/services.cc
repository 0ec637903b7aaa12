#include "host/services/services.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "host/access/checked_program.h"
#include "host/core/backoff.h"
#include "host/core/log.h"
#include "host/process/own_programs.h"
#include "host/process/start_child.h"
#include "host/wire/frame.h"

namespace cardcage {
namespace {

// Time that a service must run before it counts as started: a faulty one mostly ends at once.
constexpr std::chrono::milliseconds kSettle{100};
// Time for the launcher to become the program.
constexpr std::chrono::seconds kLaunchLimit{5};
constexpr std::chrono::seconds kGrace{5};  // from SIGTERM to SIGKILL
constexpr std::chrono::seconds kFirstPause{1}, kLongestPause{60};
constexpr std::chrono::milliseconds kFirstLook{20}, kRareLook{1000};
constexpr std::size_t kToldLines = 3;
constexpr std::ptrdiff_t kMaxOfClaim = 16;

LogField module_field(const ServiceRecord& record) { return {"module", record.key.module}; }
LogField name_field(const ServiceRecord& record) { return {"service", record.key.name}; }
LogField claim_field(const ServiceRecord& record) { return {"claim", record.key.claim_uid}; }

// ": last line; the one before"
std::string last_words(ServiceOutput* output) {
  if (output) output->read_rest();
  const std::vector<SaidLine> lines = output ? output->last_lines() : std::vector<SaidLine>();
  std::string words;
  for (const SaidLine& line : lines | std::views::reverse | std::views::take(kToldLines))
    words += (words.empty() ? ": " : "; ") + line.text;
  return words;
}

void answer_all(std::vector<OneShot<Status>>& callers, const Status& outcome) {
  for (const auto& caller : std::exchange(callers, {})) caller.set(outcome);
}

struct Launcher {
  StartedChild child;
  UniqueFd socket;
};

Result<Launcher> start_launcher(const ProgramCommand& command, const ServiceOutput& output,
                                std::shared_ptr<ControlGroup> group) {
  const auto worker = worker_file();
  if (!worker) return std::unexpected(worker.error());
  const auto program = check_program(command.file, command.environment);
  if (!program) return within(program.error(), "cannot execute '{}'", command.file.native());
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return fail_errno(errno, "cannot make a socket for a service");
  UniqueFd ours(pair[0]);
  const UniqueFd theirs(pair[1]);
  const auto print = output.end_for_service();
  if (!print) return std::unexpected(print.error());
  SpawnPlan plan(kServiceFolder);
  plan.give_nothing(STDIN_FILENO);
  plan.give(print->get(), STDOUT_FILENO);
  plan.give(print->get(), STDERR_FILENO);
  plan.give(theirs.get(), kWorkerSocket);
  plan.give(program->folder(), kServiceFolder);
  std::vector<std::string> arguments{kServiceArgument, program->path_by(kServiceFolder), command.file.filename()};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  auto child = start_child(plan, *worker, std::move(arguments), command.environment, std::move(group));
  if (!child) return std::unexpected(child.error());
  return Launcher{std::move(*child), std::move(ours)};
}

// Lets the launcher become the program, and returns once it has.
Task<Status> become_program(asio::io_context& core, Clock& clock, UniqueFd socket, const std::filesystem::path& file,
                            char word) {
  UniqueFd waited(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  if (!waited) co_return fail_errno(errno, "cannot duplicate a descriptor for a service");
  const auto told = readable_event(core, std::move(waited));
  if (!told) co_return std::unexpected(told.error());
  ::send(socket.get(), &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  const auto in_time = co_await told->wait_until(clock, clock.now() + kLaunchLimit);
  if (!in_time) co_return fail(Code::kDeadlineExceeded, "'{}' cannot be executed in time", file.native());
  std::array<char, 256> why{};
  const ssize_t size = ::recv(socket.get(), why.data(), why.size(), MSG_DONTWAIT);
  if (size == 0) co_return Status{};
  if (size < 0) co_return fail_errno(errno, fmt::format("'{}' was not executed", file.native()));
  co_return fail(Code::kFailedPrecondition, "cannot execute '{}': {}", file.native(),
                 std::string_view(why.data(), static_cast<std::size_t>(size)));
}

Task<void> wake_at_end(OneShot<bool> ended, std::shared_ptr<ChildProcess> process, std::function<void()> wake) {
  co_await ended.wait();
  process->has_exited();  // reaps it
  wake();
}

std::string group_prefix(const ServiceKey& key) { return fmt::format("cardcage-service-{}.", key.digest()); }

// Everything in the group is killed, so a record counts only if it names a group that the daemon made.
bool is_group_of(const ServiceRecord& record) {
  return record.group.filename().native().starts_with(group_prefix(record.key));
}

}  // namespace

Services::Services(asio::io_context& core, Clock& clock, Places places, FaultHook fault)
    : core_(core),
      clock_(clock),
      places_(std::move(places)),
      fault_(std::move(fault)),
      records_(places_.records, places_.boot_id) {}

void Services::adopt(const std::function<bool(const ServiceKey&)>& is_held, const Judge& judge) {
  for (ServiceRecord& record : records_.read()) {
    const bool held = is_held(record.key);
    adopt(std::move(record), held, judge);
  }
}

void Services::judge(const Judge& judge) {
  for (const auto& [key, service] : services_) Services::judge(*service, judge);
}

void Services::judge(Service& service, const Judge& judge) {
  if (!service.wanted) return;
  auto command = judge(service.record.key, service.record.command);
  const bool was_refused = !service.refused.empty();
  service.refused = command ? "" : command.error().message;
  if (command) service.record.command = std::move(*command);
  if (was_refused == !command) return;
  log(command ? LogLevel::kInfo : LogLevel::kWarn,
      command ? "module may run a service again" : "stopping a service that its module may not run any more",
      {module_field(service.record),
       name_field(service.record),
       claim_field(service.record),
       {"cause", service.refused}});
  service.wake.wake();
}

void Services::adopt(ServiceRecord record, bool held, const Judge& judge) {
  const auto service = std::make_shared<Service>(core_, std::move(record));
  Service& it = *service;
  it.wanted = held;
  std::error_code ignored;
  std::shared_ptr<ControlGroup> group;
  if (is_group_of(it.record) && std::filesystem::exists(it.record.group, ignored))
    group = std::make_shared<ControlGroup>(it.record.group);
  if (auto child = adopt_child(it.record.pid, it.record.begun, group)) {
    if (const auto ended = end_event(core_, *child)) watch(service, std::move(child->process), *ended);
    if (auto output = ServiceOutput::open(core_, output_of(it.record.key), it.record.key)) it.output = *output;
  } else if (group) {
    group->kill();  // forks of a process that has ended
  }
  std::string_view what = it.process ? "a service still runs" : "a service starts again: it ended while no daemon ran";
  if (!held) what = "a service ends: its claim was released while no daemon ran";
  log(LogLevel::kInfo, what,
      {module_field(it.record), name_field(it.record), claim_field(it.record), {"pid", it.record.pid}});
  Services::judge(it, judge);
  services_.emplace(it.record.key, service);
  spawn(core_, run(service));
}

Task<Status> Services::start(ServiceKey key, ProgramCommand command, Instant deadline) {
  auto found = services_.find(key);
  if (found != services_.end() && (!found->second->wanted || found->second->record.command != command)) {
    Status stopped = co_await stop(key, deadline);
    if (!stopped) co_return stopped;
    found = services_.find(key);
  }
  if (found == services_.end()) {
    const auto is_sibling = [&key](const auto& entry) {
      return entry.first.module == key.module && entry.first.claim_uid == key.claim_uid;
    };
    if (std::ranges::count_if(services_, is_sibling) >= kMaxOfClaim)
      co_return fail(Code::kResourceExhausted, "a module has at most {} services for a claim", kMaxOfClaim);
    const auto made = std::make_shared<Service>(core_, ServiceRecord{.key = key, .command = std::move(command)});
    found = services_.emplace(key, made).first;
    spawn(core_, run(made));
  } else if (found->second->process && found->second->starting.empty()) {
    co_return Status{};
  }
  const OneShot<Status> started(core_);
  found->second->starting.push_back(started);
  found->second->wake.wake();
  std::optional<Status> outcome = co_await started.wait_until(clock_, deadline);
  if (outcome) co_return std::move(*outcome);
  co_return fail(Code::kDeadlineExceeded, "service '{}' did not start in time", key.name);
}

Task<Status> Services::stop(ServiceKey key, Instant deadline) {
  const auto found = services_.find(key);
  if (found == services_.end()) co_return Status{};
  const ServicePtr service = found->second;
  const OneShot<Status> stopped(core_);
  service->wanted = false;
  service->stopping.push_back(stopped);
  service->wake.wake();
  std::optional<Status> outcome = co_await stopped.wait_until(clock_, deadline);
  if (outcome) co_return std::move(*outcome);
  const pid_t pid = service->record.pid;
  co_return fail(Code::kUnavailable, "service '{}' (pid {}) does not end: it {}", key.name, pid, hold_of(pid));
}

Task<Status> Services::stop_all(std::string module, std::string claim_uid, Instant deadline) {
  std::vector<ServiceKey> keys;
  for (const auto& [key, service] : services_)
    if (key.module == module && key.claim_uid == claim_uid) keys.push_back(key);
  for (const ServiceKey& key : keys) {
    services_.at(key)->wanted = false;  // all services end at the same time
    services_.at(key)->wake.wake();
  }
  Status result;
  for (const ServiceKey& key : keys) {
    const Status stopped = co_await stop(key, deadline);
    if (result) result = stopped;
  }
  co_return result;
}

Status Services::restore() const {
  for (const auto& [key, service] : services_) {
    if (!service->process || records_.has(key)) continue;
    if (auto kept = records_.keep(service->record); !kept) return kept;
  }
  return {};
}

std::vector<ServiceReport> Services::of_claim(const std::string& uid) const {
  std::vector<ServiceReport> reports;
  for (const auto& [key, service] : services_)
    if (key.claim_uid == uid) reports.push_back(report(*service));
  return reports;
}

std::vector<ServiceReport> Services::of_module(const std::string& module) const {
  std::vector<ServiceReport> reports;
  for (const auto& [key, service] : services_)
    if (key.module == module) reports.push_back(report(*service));
  return reports;
}

std::vector<std::string> Services::refusals() const {
  std::vector<std::string> refusals;
  for (const auto& [key, service] : services_)
    if (!service->refused.empty())
      refusals.push_back(fmt::format("service '{}' of module '{}' for claim {} is stopped: {}", key.name, key.module,
                                     key.claim_uid, service->refused));
  return refusals;
}

Status Services::check(const std::string& claim_uid) const {
  for (const auto& [key, service] : services_)
    if (key.claim_uid == claim_uid && !service->refused.empty())
      return fail(Code::kPermissionDenied, "service '{}' of module '{}' is stopped: {}", key.name, key.module,
                  service->refused);
  return {};
}

ServiceReport Services::report(const Service& service) {
  const std::string pid = fmt::format("pid {}", service.record.pid);
  std::string state = service.process ? "runs as " + pid : "starts again: " + service.end;
  if (!service.refused.empty()) state = "stopped: " + service.refused;
  if (!service.wanted || (service.process && !service.refused.empty())) state = "ends, " + pid;
  const ServiceKey& key = service.record.key;
  return {key.module, key.claim_uid, key.name, std::move(state), service.restarts};
}

Task<void> Services::run(ServicePtr service) {
  Service& it = *service;
  Backoff pause(kFirstPause, kLongestPause, it.record.key.name);
  while (it.wanted) {
    if (!it.refused.empty()) {
      co_await hold_back(it);
      continue;
    }
    if (!it.process) {
      const Status launched = co_await launch(service);
      if (!launched) it.end = launched.error().message;
    }
    if (it.process) {
      const Instant since = clock_.now();
      co_await await_end(it);
      if (!it.wanted) break;
      if (!it.refused.empty()) continue;
      it.process->kill();  // kills its forks
      it.end = fmt::format("its process {}{}", it.process->end(), last_words(it.output.get()));
      if (it.process->exit_status() == 0) it.end += ": a service must stay in the foreground";
      it.process.reset();
      if (clock_.now() - since > kLongestPause) pause.reset();
    }
    if (!it.wanted) break;
    if (!it.starting.empty()) {
      it.wanted = false;
      answer_all(it.starting,
                 fail(Code::kFailedPrecondition, "service '{}' does not run: {}", it.record.key.name, it.end));
      break;
    }
    log(LogLevel::kWarn, "a service has ended and starts again",
        {module_field(it.record), name_field(it.record), claim_field(it.record), {"cause", it.end}});
    ++it.restarts;
    const Instant next = clock_.now() + pause.next();
    while (it.wanted && it.refused.empty() && it.starting.empty() && clock_.now() < next)
      co_await it.wake.wait_until(clock_, next);
  }
  co_await end(it);
  if (it.output) it.output->remove();
  records_.forget(it.record.key);
  services_.erase(it.record.key);
  answer_all(it.starting, fail(Code::kAborted, "service '{}' was stopped meanwhile", it.record.key.name));
  answer_all(it.stopping, {});
}

Task<Status> Services::launch(ServicePtr service) {
  Service& it = *service;
  ServiceRecord& record = it.record;
  if (it.output) it.output->close();
  auto output = ServiceOutput::open(core_, output_of(record.key), record.key);
  if (!output) co_return std::unexpected(output.error());
  it.output = std::move(*output);
  auto launcher = start_launcher(record.command, *it.output, make_group(record));
  if (!launcher) co_return std::unexpected(launcher.error());
  const auto ended = end_event(core_, launcher->child);
  if (!ended) co_return std::unexpected(ended.error());
  watch(service, launcher->child.process, *ended);
  record.pid = it.process->pid();
  record.begun = begin_of(record.pid);
  Status launched = records_.keep(record);
  if (launched) {
    reach(FaultPoint::kAfterServiceRecord);
    const char word = places_.tied ? kServiceStartTied : kServiceStart;
    auto becoming = become_program(core_, clock_, std::move(launcher->socket), record.command.file, word);
    launched = co_await std::move(becoming);
  }
  if (launched) {
    reach(FaultPoint::kAfterServiceStart);
    log(LogLevel::kInfo, "service started",
        {module_field(record), name_field(record), claim_field(record), {"pid", record.pid}});
    co_return launched;
  }
  it.process->kill();
  it.process.reset();
  co_return launched;
}

void Services::watch(const ServicePtr& service, std::shared_ptr<ChildProcess> process, OneShot<bool> ended) {
  service->process = process;
  spawn(core_, wake_at_end(std::move(ended), std::move(process), [service] { service->wake.wake(); }));
}

Task<void> Services::await_end(Service& service) {
  const Instant settled = clock_.now() + kSettle;
  while (service.wanted && service.refused.empty() && !service.process->has_exited()) {
    co_await service.wake.wait_until(clock_, service.starting.empty() ? Instant::max() : settled);
    if (clock_.now() >= settled && !service.process->has_exited()) answer_all(service.starting, {});
  }
}

Task<void> Services::hold_back(Service& service) {
  co_await end(service);
  service.process.reset();
  while (service.wanted && !service.refused.empty()) {
    answer_all(service.starting, fail(Code::kPermissionDenied, "{}", service.refused));
    co_await service.wake.wait();
  }
}

Task<void> Services::end(Service& service) {
  if (!service.process) co_return;
  service.process->terminate();
  const Instant limit = clock_.now() + kGrace;
  while (!service.process->has_exited() && clock_.now() < limit) co_await service.wake.wait_until(clock_, limit);
  service.process->kill();
  for (Duration look = kFirstLook; service.process->survivor("a service", service.record.key.module);
       look = std::min<Duration>(2 * look, kRareLook))
    co_await service.wake.wait_for(clock_, look);
}

// Returns null if the group cannot be made: then only the process itself is known.
std::shared_ptr<ControlGroup> Services::make_group(ServiceRecord& record) {
  record.group.clear();
  if (places_.groups.empty()) return nullptr;
  std::error_code failed;
  for (;;) {
    auto folder = places_.groups / (group_prefix(record.key) + std::to_string(groups_made_++));
    if (std::filesystem::create_directory(folder, failed)) {
      record.group = folder;
      return std::make_shared<ControlGroup>(std::move(folder));
    }
    if (!failed) continue;  // an earlier daemon left it behind
    log_limited(LogLevel::kWarn, "service group", "a service gets no control group: what it forks may outlive it",
                {module_field(record), name_field(record), {"error", failed.message()}});
    return nullptr;
  }
}

void Services::reach(FaultPoint point) const {
  if (fault_) fault_(point);
}

}  // namespace cardcage
