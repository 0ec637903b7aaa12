#include "host/supervision/supervisors.h"

#include <algorithm>
#include <map>
#include <utility>

#include "host/core/log.h"

namespace cardcage {

Supervisors::Supervisors(Environment environment, const std::filesystem::path& modules_dir)
    : environment_(std::move(environment)),
      files_(environment_.core, environment_.clock, modules_dir,
             {.changed = [this](const auto& file) { file_changed(file, true); },
              .gone = [this](const auto& file) { file_changed(file, false); }}) {}

void Supervisors::configure(const Config& config, const ConfigPlan& plan) {
  std::map<std::string, std::string> former;
  for (const ModuleChange& change : plan.modules)
    if (change.kind == ModuleChange::Kind::kReplaced) former[change.name] = change.before;
  std::vector<Entry> configured;
  for (const ModuleConfig& module : config.modules) {
    const auto before = former.find(module.name);
    Entry entry = take(before == former.end() ? module.name : before->second);
    if (entry.supervisor) {
      entry.removed = false;
      entry.file_gone &= entry.supervisor->wanted().path == module.path;
      entry.supervisor->configure(module, config.deadlines);
    } else {
      entry.supervisor = std::make_unique<Supervisor>(module, config.deadlines, environment_.loader, environment_.core,
                                                      environment_.clock, environment_.quiesced, environment_.listener);
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

Supervisors::Entry Supervisors::take(const std::string& name) {
  const auto entry = std::ranges::find(all_, name, [](const Entry& one) { return one.supervisor->wanted().name; });
  if (entry == all_.end()) return {};
  Entry taken = std::move(*entry);
  all_.erase(entry);
  return taken;
}

void Supervisors::update(Entry& entry) const {
  const auto& path = entry.supervisor->wanted().path;
  entry.supervisor->drain(entry.removed     ? "it was removed from the configuration"
                          : entry.file_gone ? fmt::format("its file '{}' was removed", path.native())
                                            : "");
}

void Supervisors::arrange() {
  for (Entry& entry : all_) update(entry);
  environment_.arranged(all());
  std::set<std::filesystem::path> files;
  for (const Entry& entry : all_) files.insert({entry.supervisor->wanted().path, entry.supervisor->config().path});
  files_.follow(files);
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

bool Supervisors::is_over(const Entry& entry) const {
  return !entry.supervisor->draining().empty() && environment_.held(entry.supervisor->config().name) == 0;
}

Task<void> Supervisors::tidy() {
  for (const Entry& entry : all_)
    if (!entry.removed && is_over(entry)) entry.supervisor->end_drained();
  const auto gone = [this](const Entry& entry) { return entry.removed && is_over(entry); };
  // The configuration may change while one of them stops.
  for (auto next = std::ranges::find_if(all_, gone); !stopping_ && next != all_.end();
       next = std::ranges::find_if(all_, gone)) {
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

Task<void> Supervisors::stop() {
  stopping_ = true;
  files_.stop();
  for (const Entry& entry : all_) co_await entry.supervisor->stop();
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
