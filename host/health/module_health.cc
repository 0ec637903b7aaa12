#include "host/health/module_health.h"

#include <algorithm>

#include "host/core/log.h"

namespace cardcage {
namespace {

constexpr Duration kKeepInterval = std::chrono::minutes(1);

}  // namespace

ModuleHealth::ModuleHealth(std::string module, Clock& clock, HealthStore& store,
                           std::function<void(const HealthEvent&)> noted)
    : module_(std::move(module)), clock_(clock), store_(store), noted_(std::move(noted)) {
  load();
}

// The devices are absent until they are listed.
void ModuleHealth::load() {
  const Moment now = moment();
  const auto absent = [&](const std::string& id) {
    const auto device = devices_.try_emplace(id).first;
    if (!device->second.left) leaving_.emplace(now.now + kMaxAbsence, id);
    device->second.left = now.now;
    return device;
  };
  for (const CauseRecord& record : store_.causes(module_)) {
    const auto device = absent(record.device.id);
    Causes& causes = device->second.causes;
    if (causes.size() >= kMaxCauses && !make_room_for(device, record.health)) {
      store_.forget(record.device, record.health.cause);
      continue;
    }
    const auto [cause, fresh] = causes.try_emplace(
        record.health.cause, Tracked{.cause = Cause(rule_of(record.health.cause), record, now), .kept = true});
    if (fresh) schedule(device->first, cause->first, cause->second, cause->second.cause.due());
  }
  for (CordonRecord& cordon : store_.cordons(module_)) {
    Known& known = absent(cordon.device.id)->second;
    known.name = cordon.name;
    known.cordon = std::move(cordon);
  }
  for (const ResetRecord& reset : store_.resets(module_))
    if (reset.time > now.wall - kResetPeriod)
      absent(reset.device.id)->second.resets.push_back(instant_of(reset.time, now));
}

RuleOf ModuleHealth::rule_of(const std::string& cause) const {
  return [this, &cause](std::string_view reason) -> const HealthRule& { return rules_.find(cause, reason); };
}

HealthNews ModuleHealth::set_rules(HealthRules rules) {
  const HealthRules former = std::exchange(rules_, std::move(rules));
  has_remedy_ = std::ranges::any_of(rules_.all(), [](const NamedRule& rule) { return rule.rule.resets_per_day > 0; });
  const Moment now = moment();
  HealthNews news = HealthNews::kNone;
  for (auto device = devices_.begin(); device != devices_.end(); ++device) {
    for (auto next = device->second.causes.begin(); next != device->second.causes.end();) {
      const auto cause = next++;
      const Shown before = shown(cause->second);
      // An undeclared cause may have been stated all the same.
      if (cause->first.empty() || rules_.declares(cause->first) || !former.declares(cause->first) ||
          cause->second.cause.quarantined()) {
        const bool changed = cause->second.cause.advance(rule_of(cause->first), now);
        news = std::max(news, follow(device, cause, before, changed, now, "the rule has changed"));
        continue;
      }
      news = HealthNews::kState;
      if (before.state != HealthState::kHealthy)
        note_cause(HealthEventKind::kEnded, device, {{.state = HealthState::kHealthy, .cause = cause->first}, now.wall},
                   {}, "the module does not declare this cause any more");
      drop(device, cause);
    }
  }
  return news;
}

HealthNews ModuleHealth::list(const Snapshot& snapshot, const std::map<std::string, Statements>& newer) {
  const Moment now = moment();
  mark_listed(snapshot);
  mark_left(now.now);
  HealthNews news = HealthNews::kNone;
  // A list without health does not override earlier reports: a module may learn of health from events only.
  for (const Device& device : snapshot.devices) {
    const auto later = newer.find(device.id);
    if (device.health == Health{} || (later != newer.end() && later->second.contains(device.health.cause))) continue;
    news = std::max(news, state(devices_.find(device.id), device.health, now));
  }
  for (const auto& [device_id, statements] : newer)
    if (const auto device = devices_.find(device_id); device != devices_.end())
      for (const auto& [cause, health] : statements) news = std::max(news, state(device, health, now));
  drop_excess();
  return news;
}

void ModuleHealth::mark_listed(const Snapshot& snapshot) {
  for (auto& [id, known] : devices_) {
    // mark_left() replaces the maximum by the time, unless the device is in this list, too.
    if ((known.listed || known.parent) && !known.left) known.left = Instant::max();
    known.gone |= known.listed;
    known.listed = known.parent = false;
  }
  const auto arrive = [&](const std::string& id) -> Known& {
    Known& known = devices_[id];
    if (known.left && *known.left != Instant::max()) leaving_.erase({*known.left + kMaxAbsence, id});
    known.left.reset();
    return known;
  };
  for (const Device& device : snapshot.devices) {
    Known& known = devices_[device.id];
    const bool back = known.gone && known.left && *known.left != Instant::max();
    arrive(device.id);
    known.name = device.name;
    known.parent_id = device.parent_id;
    if (!known.gone) known.listed_since = clock_.wall();
    known.listed = true;
    known.gone = false;
    if (back) note(event(HealthEventKind::kBack, device.id, known));
  }
  for (const Device& device : snapshot.devices)
    if (!device.parent_id.empty()) arrive(device.parent_id).parent = true;
}

void ModuleHealth::mark_left(Instant now) {
  for (auto& [id, known] : devices_) {
    if (known.left != Instant::max()) continue;
    known.left = now;
    leaving_.emplace(now + kMaxAbsence, id);
    if (known.gone) note(event(HealthEventKind::kGone, id, known));
  }
}

void ModuleHealth::drop_excess() {
  if (leaving_.size() <= kMaxAbsent) return;
  std::vector<std::tuple<bool, bool, Instant, std::string>> absent;
  for (const auto& [forgotten, id] : leaving_)
    if (const Known& known = devices_.at(id); !known.cordon)
      absent.emplace_back(needs_operator(known), !is_well(known), forgotten, id);
  if (absent.size() <= kMaxAbsent) return;
  std::ranges::sort(absent);
  absent.resize(absent.size() - kMaxAbsent);
  for (const auto& [kept, unwell, forgotten, id] : absent) drop(devices_.find(id));
}

// True if only an operator ends the cause, because it is quarantined or by its rule.
bool ModuleHealth::needs_operator(const std::string& cause, const Tracked& tracked) const {
  const Cause& its = tracked.cause;
  if (its.quarantined()) return true;
  return its.counts().health.state != HealthState::kHealthy &&
         rules_.find(cause, its.reason()).recovery == Recovery::kOperator;
}

bool ModuleHealth::needs_operator(const Known& known) const {
  return known.cordon || std::ranges::any_of(known.causes, [this](const auto& entry) {
           return needs_operator(entry.first, entry.second);
         });
}

bool ModuleHealth::is_well(const Known& known) const {
  return std::ranges::all_of(known.causes, [](const auto& entry) {
    return entry.second.cause.counts().health.state == HealthState::kHealthy;
  });
}

bool ModuleHealth::knows(const std::string& device_id) const { return devices_.contains(device_id); }

HealthNews ModuleHealth::state(const std::string& device_id, Health health) {
  const auto device = devices_.find(device_id);
  return device == devices_.end() ? HealthNews::kNone : state(device, std::move(health), moment());
}

ModuleHealth::Shown ModuleHealth::shown(const Tracked& tracked) {
  const CauseHealth& counts = tracked.cause.counts();
  const Health& health = counts.health;
  return {.state = health.state,
          .taint = {advised_taint(health), health.taint_key,
                    health.taint_value.empty() ? health.reason : health.taint_value},
          .kubelet = counts.kubelet,
          .quarantined = counts.quarantined};
}

HealthNews ModuleHealth::state(Devices::iterator device, Health health, Moment now) {
  Causes& causes = device->second.causes;
  auto cause = causes.find(health.cause);
  Shown before;
  bool changed = true;
  if (cause != causes.end()) {
    Cause& known = cause->second.cause;
    before = shown(cause->second);
    changed = known.state(rule_of(cause->first), std::move(health), now);
  } else {
    if (causes.size() >= kMaxCauses && !make_room_for(device, health)) {
      refuse(device->first, health);
      return HealthNews::kNone;
    }
    const std::string name = health.cause;
    cause = causes.try_emplace(name, Tracked{.cause = Cause(rule_of(name), std::move(health), now)}).first;
  }
  return follow(device, cause, before, changed, now);
}

// Drops the cause that counts least for a worse statement, unless only an operator ends that cause.
bool ModuleHealth::make_room_for(Devices::iterator device, const Health& wanted) {
  const auto badness = [](const auto& entry) {
    const CauseHealth& counts = entry.second.cause.counts();
    return std::tuple(counts.quarantined, severity(counts.health.state), counts.health.timeout.count() > 0);
  };
  const auto least = std::ranges::min_element(device->second.causes, {}, badness);
  const CauseHealth& its = least->second.cause.counts();
  if (its.quarantined || severity(its.health.state) >= severity(wanted.state)) return false;
  drop(device, least);
  return true;
}

void ModuleHealth::refuse(const std::string& device_id, const Health& health) const {
  log_limited(LogLevel::kError, module_ + "/causes",
              fmt::format("health report is ignored: the device has {} causes that are no better; name causes for what "
                          "can be wrong with a device, not for events, and report those that are over as OK [R6]",
                          kMaxCauses),
              {{"module", module_}, {"device", device_id}, {"cause", health.cause}});
}

void ModuleHealth::schedule(const std::string& device_id, const std::string& cause, Tracked& tracked, Instant due) {
  if (tracked.scheduled == due) return;
  if (tracked.scheduled != Instant::max()) due_.erase({tracked.scheduled, device_id, cause});
  if (due != Instant::max()) due_.emplace(due, device_id, cause);
  tracked.scheduled = due;
}

void ModuleHealth::drop(Devices::iterator device, Causes::iterator cause) {
  schedule(device->first, cause->first, cause->second, Instant::max());
  if (cause->second.kept) store_.forget({module_, device->first}, cause->first);
  device->second.causes.erase(cause);
}

void ModuleHealth::drop(Devices::iterator device) {
  while (!device->second.causes.empty()) drop(device, device->second.causes.begin());
  if (device->second.left) leaving_.erase({*device->second.left + kMaxAbsence, device->first});
  devices_.erase(device);
}

HealthNews ModuleHealth::advance() {
  const Moment now = moment();
  HealthNews news = HealthNews::kNone;
  while (!due_.empty() && std::get<Instant>(*due_.begin()) <= now.now) {
    const auto [due, device_id, name] = *due_.begin();
    const auto device = devices_.find(device_id);
    const auto cause = device->second.causes.find(name);
    const Shown before = shown(cause->second);
    const bool changed = cause->second.cause.advance(rule_of(cause->first), now);
    news = std::max(news, follow(device, cause, before, changed, now));
  }
  while (!leaving_.empty() && leaving_.begin()->first <= now.now) {
    const auto device = devices_.find(leaving_.begin()->second);
    if (!needs_operator(device->second)) {
      drop(device);
      continue;
    }
    leaving_.erase(leaving_.begin());
    device->second.left = now.now;
    leaving_.emplace(now.now + kMaxAbsence, device->first);
    for (auto next = device->second.causes.begin(); next != device->second.causes.end();)
      if (const auto cause = next++; !needs_operator(cause->first, cause->second)) drop(device, cause);
  }
  return news;
}

Instant ModuleHealth::due() const {
  const Instant cause = due_.empty() ? Instant::max() : std::get<Instant>(*due_.begin());
  return leaving_.empty() ? cause : std::min(cause, leaving_.begin()->first);
}

// Called after each change of the cause.
HealthNews ModuleHealth::follow(Devices::iterator device, Causes::iterator cause, const Shown& before, bool changed,
                                Moment now, std::string why) {
  const Cause& known = cause->second.cause;
  const CauseHealth& counts = known.counts();
  schedule(device->first, cause->first, cause->second, known.due());
  const int was = severity(before.state), is = severity(counts.health.state);
  const bool quarantined = counts.quarantined && !before.quarantined;
  keep(device, cause, is != was || quarantined, now);
  if (is != was) {
    const HealthEventKind milder = is == 0 ? HealthEventKind::kEnded : HealthEventKind::kEased;
    note_cause(is > was ? HealthEventKind::kBegan : milder, device, counts, {}, std::move(why));
    log_change(device, before.state, counts.health);
  }
  if (quarantined) note_cause(HealthEventKind::kQuarantined, device, counts);
  if (!changed || !(device->second.listed || device->second.parent)) return HealthNews::kNone;
  return before == shown(cause->second) ? HealthNews::kText : HealthNews::kState;
}

// Saves tracked causes without writing each repetition to the disk.
void ModuleHealth::keep(Devices::iterator device, Causes::iterator cause, bool changed, Moment now) {
  Tracked& tracked = cause->second;
  const DeviceKey key{module_, device->first};
  const bool refresh =
      tracked.kept && tracked.cause.stated() > tracked.kept_at && now.now - tracked.kept_at >= kKeepInterval;
  auto record = tracked.cause.record(rule_of(cause->first), key, now);
  if (!record && tracked.kept) store_.forget(key, cause->first);
  if (record && (changed || refresh || !tracked.kept)) {
    tracked.kept_at = now.now;
    store_.keep(*std::move(record));
    tracked.kept = true;
  } else if (!record) {
    tracked.kept = false;
  }
}

HealthEvent ModuleHealth::event(HealthEventKind kind, const std::string& device_id, const Known& known) const {
  return {.time = clock_.wall(), .kind = kind, .device = {module_, device_id}, .name = known.name};
}

// A cause that flaps is damped, and so is its history: from the third return within the window of its rule on it gets
// worse at most once in 10 s, then 20 s, and so on up to the window.
void ModuleHealth::note(HealthEvent event) {
  if (noted_) noted_(event);
  store_.note(std::move(event));
}

void ModuleHealth::note_cause(HealthEventKind kind, Devices::const_iterator device, const CauseHealth& counts,
                              std::string by, std::string why) {
  HealthEvent noted = event(kind, device->first, device->second);
  noted.cause = counts.health.cause;
  noted.state = counts.health.state;
  noted.reason = counts.health.reason;
  noted.message = why.empty() ? counts.health.message : std::move(why);
  noted.by = std::move(by);
  note(std::move(noted));
}

// The first statement about a cause is logged only if it is not good.
void ModuleHealth::log_change(Devices::const_iterator device, HealthState before, const Health& now) const {
  const auto write = [&](LogLevel level, std::string_view state, std::string_view text) {
    const std::string key = fmt::format("{} {} {}", module_, device->first, state);
    if (now.state == HealthState::kHealthy)
      return log_limited(level, key, text, {{"module", module_}, {"device", device->first}, {"cause", now.cause}});
    log_limited(level, key, text,
                {{"module", module_},
                 {"device", device->first},
                 {"cause", now.cause},
                 {"reason", now.reason},
                 {"error", now.message}});
  };
  switch (now.state) {
    case HealthState::kHealthy:
      if (before != HealthState::kUnhealthy) return;
      if (is_well(device->second)) return write(LogLevel::kInfo, "healthy", "device is healthy again");
      return write(LogLevel::kInfo, "better", "one cause of the device's health is over, others remain");
    case HealthState::kUnhealthy: return write(LogLevel::kWarn, "unhealthy", "device is unhealthy");
    case HealthState::kUnknown: return write(LogLevel::kWarn, "unknown", "health of the device is unknown");
    case HealthState::kUnmonitored: return write(LogLevel::kInfo, "unmonitored", "device is not monitored");
    case HealthState::kDegraded: return write(LogLevel::kWarn, "degraded", "device is degraded");
  }
}

// Renames the records in the store, too, so that a restart finds them under the new name.
Task<void> ModuleHealth::rename(std::string module) {
  const std::string former = std::exchange(module_, std::move(module));
  std::vector<CordonRecord> cordons;
  std::vector<ResetRecord> resets;
  const Moment now = moment();
  for (auto device = devices_.begin(); device != devices_.end(); ++device) {
    for (auto cause = device->second.causes.begin(); cause != device->second.causes.end(); ++cause) {
      if (cause->second.kept) store_.forget({former, device->first}, cause->first);
      keep(device, cause, true, now);
    }
    for (const Instant reset : device->second.resets) resets.push_back({{module_, device->first}, wall_of(reset, now)});
    if (!device->second.cordon) continue;
    device->second.cordon->device.module = module_;
    cordons.push_back(*device->second.cordon);
  }
  for (CordonRecord& cordon : cordons) {
    const DeviceKey before{former, cordon.device.id};
    if (co_await store_.keep(std::move(cordon))) std::ignore = co_await store_.forget_cordon(before);
  }
  for (ResetRecord& reset : resets) std::ignore = co_await store_.keep(std::move(reset));
}

}  // namespace cardcage
