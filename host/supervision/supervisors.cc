#include "host/supervision/supervisors.h"

#include <algorithm>
#include <map>
#include <utility>

#include "host/core/log.h"
#include "host/core/task_group.h"

namespace cardcage {
namespace {

Task<void> wait_for_calls(std::shared_ptr<Module> module, Instant deadline) {
  std::ignore = co_await module->finish_calls(deadline);
}

}  // namespace

Supervisors::Supervisors(Environment environment, std::vector<std::filesystem::path> modules_dirs)
    : environment_(std::move(environment)),
      files_(environment_.core, environment_.clock, std::move(modules_dirs),
             {.changed = [this](const auto& file) { file_changed(file, true); },
              .gone = [this](const auto& file) { file_changed(file, false); }}) {}

Supervisor::Listener Supervisors::listener() {
  Supervisor::Listener listener = environment_.listener;
  listener.changed = [this](const Supervisor& supervisor, SupervisorEvent event) {
    environment_.listener.changed(supervisor, event);
    if (is_of_module(event)) wake_waiters();
  };
  return listener;
}

void Supervisors::configure(const Config& config, const ConfigPlan& plan) {
  std::map<std::string, std::string> former;
  for (const ModuleChange& change : plan.modules)
    if (change.kind == ModuleChange::Kind::kReplaced) former[change.name] = change.before;
  std::vector<Entry> configured;
  for (const ModuleConfig& module : config.modules) {
    const auto before = former.find(module.name);
    Entry entry = extract(before == former.end() ? module.name : before->second);
    if (entry.supervisor) {
      entry.removed = false;
      entry.file_gone &= entry.supervisor->wanted().path == module.path;
      entry.supervisor->configure(module, config.deadlines);
    } else {
      entry.supervisor =
          std::make_unique<Supervisor>(module, config.deadlines, environment_.loader, environment_.core,
                                       environment_.clock, environment_.quiesced, environment_.health, listener());
      spawn(environment_.core, entry.supervisor->run());
    }
    configured.push_back(std::move(entry));
  }
  std::swap(all_, configured);
  for (Entry& entry : configured) {
    entry.removed = true;
    all_.push_back(std::move(entry));
  }
  arrange();
}

Supervisors::Entry Supervisors::extract(const std::string& name) {
  const auto entry = std::ranges::find(all_, name, [](const Entry& one) { return one.supervisor->wanted().name; });
  if (entry == all_.end()) return {};
  Entry extracted = std::move(*entry);
  all_.erase(entry);
  return extracted;
}

void Supervisors::update_drain(Entry& entry) const {
  const auto& path = entry.supervisor->wanted().path;
  entry.supervisor->drain(entry.removed     ? "it was removed from the configuration"
                          : entry.file_gone ? fmt::format("its file '{}' was removed", path.native())
                                            : "");
}

void Supervisors::arrange() {
  for (Entry& entry : all_) update_drain(entry);
  environment_.arranged(all());
  std::set<std::filesystem::path> files;
  for (const Entry& entry : all_) files.insert({entry.supervisor->wanted().path, entry.supervisor->config().path});
  files_.follow(files);
  wake_waiters();
}

void Supervisors::file_changed(const std::filesystem::path& file, bool there) {
  for (Entry& entry : all_) {
    Supervisor& supervisor = *entry.supervisor;
    if (supervisor.wanted().path != file) continue;
    entry.file_gone = !there;
    if (there) supervisor.renew();
  }
  arrange();
}

bool Supervisors::is_draining(const Entry& entry) {
  return entry.removed || (entry.file_gone && entry.supervisor->module());
}

bool Supervisors::is_drained(const Entry& entry) const {
  return !entry.supervisor->draining().empty() && environment_.held(entry.supervisor->config().name) == 0;
}

Task<void> Supervisors::tidy() {
  for (const Entry& entry : all_)
    if (!entry.removed && is_drained(entry)) entry.supervisor->end_drained();
  const auto may_go = [this](const Entry& entry) { return entry.removed && is_drained(entry); };
  // Searches again each time: the configuration may change while a module stops.
  for (auto next = std::ranges::find_if(all_, may_go); !stopping_ && next != all_.end();
       next = std::ranges::find_if(all_, may_go)) {
    const std::unique_ptr<Supervisor> leaving = std::move(next->supervisor);
    all_.erase(next);
    arrange();
    co_await leaving->stop();
    log(LogLevel::kInfo, "module is gone", {{"module", leaving->config().name}});
  }
}

bool Supervisors::untidy() const { return std::ranges::any_of(all_, is_draining); }

std::vector<std::string> Supervisors::retry() {
  std::vector<std::string> names;
  for (const Entry& entry : all_) {
    if (!entry.supervisor->refused()) continue;
    entry.supervisor->renew();
    names.push_back(entry.supervisor->wanted().name);
  }
  return names;
}

// Each waiter has an event of its own, so that any number of them can wait.
Task<void> Supervisors::wait_until_decided(std::vector<std::string> modules, Instant deadline) {
  const auto undecided = [this](const std::string& name) {
    const Supervisor* const supervisor = find(name);
    return supervisor && supervisor->undecided();
  };
  while (!stopping_ && environment_.clock.now() < deadline && std::ranges::any_of(modules, undecided)) {
    const OneShot<bool> changed(environment_.core);
    waiters_.push_back(changed);
    std::ignore = co_await changed.wait_until(environment_.clock, deadline);
  }
}

void Supervisors::wake_waiters() {
  for (const OneShot<bool>& waiter : std::exchange(waiters_, {})) waiter.set(true);
}

Task<void> Supervisors::finish_calls(Instant deadline) {
  TaskGroup waits(environment_.core);
  for (const Entry& entry : all_)
    if (const auto module = entry.supervisor->module()) waits.spawn(wait_for_calls(*module, deadline));
  co_await waits.join(environment_.clock, Instant::max());
}

Task<void> Supervisors::stop() {
  stopping_ = true;
  wake_waiters();
  co_await files_.stop();
  TaskGroup stops(environment_.core);
  for (const Entry& entry : all_) stops.spawn(entry.supervisor->stop());
  co_await stops.join(environment_.clock, Instant::max());
}

std::vector<const Supervisor*> Supervisors::all() const {
  std::vector<const Supervisor*> supervisors;
  for (const Entry& entry : all_) supervisors.push_back(entry.supervisor.get());
  return supervisors;
}

Supervisor* Supervisors::find(const std::string& name) const {
  const auto entry = std::ranges::find(all_, name, [](const Entry& one) { return one.supervisor->wanted().name; });
  return entry == all_.end() ? nullptr : entry->supervisor.get();
}

std::string Supervisors::draining(const Supervisor& supervisor) const {
  const auto entry = std::ranges::find(all_, &supervisor, [](const Entry& one) { return one.supervisor.get(); });
  if (entry == all_.end() || !is_draining(*entry)) return "";
  const std::size_t held = environment_.held(supervisor.config().name);
  return fmt::format("{}; {}", supervisor.draining(),
                     held == 0   ? "nothing holds its devices"
                     : held == 1 ? "1 claim holds devices of it"
                                 : fmt::format("{} claims hold devices of it", held));
}

}  // namespace cardcage
