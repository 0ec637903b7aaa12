#include "host/health/cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "host/core/duration.h"
#include "host/core/utf8.h"

namespace cardcage {
namespace {

constexpr Duration kDefaultWindow = std::chrono::minutes(10);
constexpr Duration kFirstDamping = std::chrono::seconds(10);
constexpr std::size_t kDampedRelapses = 3, kMaxRelapses = 100;
constexpr int kUnknownLevel = severity(HealthState::kUnknown);
// The reason that selects the rule of silence.
constexpr std::string_view kSilent = "Silent";

HealthState state_of(int level) {
  constexpr std::array kStates = {HealthState::kHealthy, HealthState::kDegraded, HealthState::kUnmonitored,
                                  HealthState::kUnknown, HealthState::kUnhealthy};
  return kStates.at(level);
}

Instant later(Instant from, Duration by) {
  return from > Instant::min() && by > Instant::max() - std::max(from, Instant{}) ? Instant::max() : from + by;
}

bool is_beyond(const ValueLimit& limit, double value, bool was_beyond) {
  const bool above = limit.side == ValueLimit::Side::kAbove;
  if (above ? value >= limit.limit : value <= limit.limit) return true;
  if (above ? value <= limit.clear : value >= limit.clear) return false;
  return was_beyond;
}

struct Judgement {
  HealthState state;
  bool beyond;  // the value, if it decided, is beyond the limit
};
Judgement judge(const HealthRule& rule, const Health& stated, bool was_beyond) {
  if (rule.limit && stated.value) {
    const bool beyond = is_beyond(*rule.limit, *stated.value, was_beyond);
    return {beyond ? rule.severity.value_or(HealthState::kUnhealthy) : HealthState::kHealthy, beyond};
  }
  const bool healthy = stated.state == HealthState::kHealthy;
  return {healthy ? HealthState::kHealthy : rule.severity.value_or(stated.state), !healthy};
}

void add_limit_text(const ValueLimit& limit, Health& health) {
  const bool above = limit.side == ValueLimit::Side::kAbove;
  if (health.reason.empty()) health.reason = above ? "Above" : "Below";
  if (health.message.empty())
    health.message =
        fmt::format("the value {} is not {} the limit {}", *health.value, above ? "below" : "above", limit.limit);
}

Health as_judged(const HealthRule& rule, Health health, HealthState state) {
  health.state = state;
  if (state == HealthState::kHealthy) return health;
  if (rule.limit && health.value) add_limit_text(*rule.limit, health);
  if (rule.taint || health.taint == TaintEffect::kNone) {
    const TaintRule& taint = rule.taint ? *rule.taint : rule.default_taint;
    health.taint = taint.effect;
    health.taint_key = taint.key;
    health.taint_value = taint.value;
  }
  return health;
}

Health silence(const Health& stated) {
  const std::string about = stated.cause.empty() ? "" : " about " + stated.cause;
  return {.reason = std::string(kSilent),
          .message = fmt::format("no report{} for {} s", about, stated.timeout.count()),
          .timeout = stated.timeout,
          .cause = stated.cause};
}

Duration window_of(const HealthRule& rule) { return rule.window > Duration::zero() ? rule.window : kDefaultWindow; }

void add_quarantine(const HealthRule& rule, Health& health) {
  const std::string often = rule.relapses == 0
                                ? "too often"
                                : fmt::format("{} times within {}", rule.relapses, format_duration(window_of(rule)));
  const std::string more =
      fmt::format("; it came back {}, so only an operator ends it: see 'cagectl device clear'", often);
  health.message = cut_utf8(health.message, kMaxHealthMessage - more.size()) + more;
}

// A measured value changes with each report; a change of the value alone is not reported.
bool looks_alike(const CauseHealth& a, const CauseHealth& b) {
  const auto look = [](const CauseHealth& cause) {
    const Health& health = cause.health;
    return std::tie(health.state, health.reason, health.message, health.timeout, health.taint, health.taint_key,
                    health.taint_value, cause.quarantined, cause.kubelet);
  };
  return look(a) == look(b);
}

Duration damping_of(std::size_t relapses, Duration window) {
  if (relapses < kDampedRelapses) return Duration::zero();
  Duration damping = kFirstDamping;
  for (std::size_t i = kDampedRelapses; i < relapses && damping < window; ++i) damping *= 2;
  return std::min(damping, window);
}

}  // namespace

// The wall time may be from before the machine's start.
Instant instant_of(std::chrono::system_clock::time_point wall, Moment now) {
  if (wall >= now.wall) return now.now;
  const auto age = std::min<std::chrono::system_clock::duration>(now.wall - wall, std::chrono::years(10));
  return now.now - std::chrono::duration_cast<Duration>(age);
}

std::chrono::system_clock::time_point wall_of(Instant instant, Moment now) {
  return now.wall - std::chrono::duration_cast<std::chrono::system_clock::duration>(now.now - instant);
}

Cause::Cause(const RuleOf& rule_of, Health stated, Moment now) {
  self_.counts = {{.state = HealthState::kHealthy, .cause = stated.cause}, now.wall};
  self_.stated.cause = stated.cause;
  self_.stated.state = HealthState::kHealthy;
  state(rule_of, std::move(stated), now);
}

Cause::Cause(const RuleOf& rule_of, const CauseRecord& record, Moment now) {
  const Instant changed = instant_of(record.changed, now), stated = instant_of(record.stated, now);
  self_.counts = {record.health, std::min(record.changed, now.wall)};
  self_.quarantined = record.quarantined;
  self_.stated = record.health;
  self_.stated.timeout = {};  // no daemon waits for the next report any more
  self_.level = self_.judged = self_.stated_level = severity(record.health.state);
  self_.beyond = self_.level > 0;
  self_.value = record.health.value;
  self_.value_changed = stated;
  self_.began = changed;
  self_.turned.fill(changed);
  for (int level = 1; level <= self_.level; ++level) self_.said.at(level) = stated;
  for (const auto& relapse : record.relapses) self_.relapses.push_back(instant_of(relapse, now));
  std::ranges::sort(self_.relapses);
  self_.returns = self_.relapses;
  const HealthRule& rule = rule_of(record.health.reason);
  self_.window = window_of(rule);
  if (self_.level > 0) {
    const bool silent = self_.level == kUnknownLevel && record.health.timeout.count() > 0;
    self_.newest[self_.level] = {record.health, silent};
    self_.damping = damping_of(self_.relapses.size(), self_.window);
  } else {
    self_.ended = changed;
  }
  settle(rule_of, now);
}

bool Cause::state(const RuleOf& rule_of, Health stated, Moment now) {
  const CauseHealth shown_before = self_.counts;
  if (self_.stated_at == now.now) {
    const bool was_beyond = before_ ? before_->beyond : self_.beyond;
    const int level = severity(judge(rule_of(stated.reason), stated, was_beyond).state);
    if (std::tie(level, stated) <= std::tie(self_.stated_level, self_.stated)) return false;
    if (before_) self_ = *before_;
  }
  auto before = std::make_unique<Self>(self_);
  settle(rule_of, now);
  apply(rule_of, std::move(stated), now.now);
  settle(rule_of, now);
  const auto well = [](const Self& self) {
    return self.judged == 0 && self.level == 0 && self.over == Over::kNo && !self.beyond;
  };
  before_ = well(*before) && well(self_) ? nullptr : std::move(before);
  return !looks_alike(self_.counts, shown_before);
}

void Cause::apply(const RuleOf& rule_of, Health stated, Instant now) {
  const HealthRule& rule = rule_of(stated.reason);
  const bool changed = stated.value && stated.value != self_.value;
  if (changed) {
    self_.value = stated.value;
    self_.value_changed = now;
  }
  const Judgement judgement = judge(rule, stated, self_.beyond);
  const int level = severity(judgement.state);
  // A value that has been stable for long enough is not made news by a repetition.
  const bool stays_over = self_.over == Over::kByTime && rule.recovery == Recovery::kStable && !changed && level > 0 &&
                          level <= self_.stated_level;
  self_.beyond = judgement.beyond;
  self_.stated = std::move(stated);
  self_.stated_at = now;
  self_.stated_level = level;
  if (stays_over) return;
  self_.over = Over::kNo;
  self_.silent = false;
  if (level > 0) self_.newest[level] = {self_.stated};
  for (int said = 1; said <= level; ++said) self_.said.at(said) = now;
  set_judged(level, now);
}

bool Cause::advance(const RuleOf& rule_of, Moment now) {
  if (now.now > self_.stated_at) before_.reset();
  return settle(rule_of, now);
}

bool Cause::clear(const RuleOf& rule_of, Moment now) {
  before_.reset();
  if (self_.judged > 0) self_.over = Over::kByOperator;
  self_.silent = false;
  self_.stated_at = Instant::min();  // so that a statement at this very instant counts as a new one
  self_.level = 0;
  set_judged(0, now.now);
  set_level(0, now.now);
  self_.ended.reset();
  self_.relapses = self_.returns = {};
  return settle(rule_of, now);
}

// Applies everything that was due until now. Afterwards the next due time is in the future.
bool Cause::settle(const RuleOf& rule_of, Moment now) {
  judge_anew(rule_of, now.now);
  fall_silent(rule_of, now.now);
  worsen(rule_of, now.now);
  recover(rule_of, now.now);
  forget_old(now.now);
  self_.due = next(rule_of);
  return show(shown(rule_of), now);
}

// New rules apply at once, also to statements that count already.
void Cause::judge_anew(const RuleOf& rule_of, Instant now) {
  const auto anew = [&](int level, const Said& said) {
    const HealthRule& rule = rule_of(said.health.reason);
    if (said.silent) return rule.severity == HealthState::kHealthy ? 0 : level;
    return severity(judge(rule, said.health, true).state);
  };
  const bool same = std::ranges::all_of(
      self_.newest, [&](const auto& entry) { return anew(entry.first, entry.second) == entry.first; });
  if (!same) {
    const int before = self_.level;
    std::map<int, Said> newest;
    for (auto& [level, said] : std::exchange(self_.newest, {})) {
      const int now_level = anew(level, said);
      if (level == before) self_.level = now_level;
      if (now_level > 0 && (level == before || !newest.contains(now_level) || now_level != self_.level))
        newest.insert_or_assign(now_level, std::move(said));
    }
    self_.newest = std::move(newest);
    for (int level = before + 1; level <= self_.level; ++level) self_.said.at(level) = self_.said.at(before);
    if (self_.level == 0 && before > 0) {
      set_level(0, now);
      self_.ended.reset();  // the cause did not end, so it cannot come back either
    }
  }
  judge_standing(rule_of, now);
}

void Cause::judge_standing(const RuleOf& rule_of, Instant now) {
  if (self_.over != Over::kNo) return;
  const HealthRule& rule = rule_of(self_.stated.reason);
  const Judgement judgement = judge(rule, self_.stated, self_.beyond);
  self_.beyond = judgement.beyond;
  self_.stated_level = severity(judgement.state);
  const bool silent = self_.silent && rule_of(kSilent).severity != HealthState::kHealthy;
  const int level = silent ? std::max(self_.stated_level, kUnknownLevel) : self_.stated_level;
  if (level == self_.judged) return;
  if (level > 0) self_.newest[level] = {self_.stated};
  if (silent && level == kUnknownLevel) self_.newest[level] = {silence(self_.stated), true};
  for (int said = 1; said <= self_.stated_level; ++said)
    self_.said.at(said) = std::max(self_.said.at(said), std::max(self_.stated_at, self_.began));
  set_judged(level, now);
}

void Cause::set_judged(int level, Instant at) {
  for (int i = std::min(level, self_.judged) + 1; i <= std::max(level, self_.judged); ++i) self_.turned.at(i) = at;
  self_.judged = level;
  std::erase_if(self_.newest, [&](const auto& entry) { return entry.first > level && entry.first != self_.level; });
}

Instant Cause::silent_at(const RuleOf& rule_of) const {
  if (self_.stated.timeout.count() == 0 || self_.silent || self_.over != Over::kNo || self_.judged > kUnknownLevel ||
      self_.stated_at == Instant::min())
    return Instant::max();
  const HealthRule& rule = rule_of(self_.stated.reason);
  if (rule_of(kSilent).severity == HealthState::kHealthy) return Instant::max();
  // A taint outlasts silence: only the module can report that the device is well again.
  const Health health = as_judged(rule, self_.stated, state_of(self_.judged));
  return advised_taint(health) == TaintEffect::kNone ? later(self_.stated_at, self_.stated.timeout) : Instant::max();
}

void Cause::fall_silent(const RuleOf& rule_of, Instant now) {
  const Instant at = silent_at(rule_of);
  if (at > now) return;
  self_.silent = true;
  self_.newest[kUnknownLevel] = {silence(self_.stated), true};
  set_judged(kUnknownLevel, at);
}

void Cause::worsen(const RuleOf& rule_of, Instant now) {
  for (int level = self_.judged; level > self_.level; --level) {
    const auto said = self_.newest.find(level);
    if (said == self_.newest.end()) continue;
    const HealthRule& rule = rule_of(said->second.health.reason);
    if (later(self_.turned.at(level), rule.hold_down) > now) continue;
    begin(rule, now);
    self_.began = now;
    self_.level = level;
    return;
  }
}

// Called when the level that counts rises. If it was milder or over in between, the cause comes back.
void Cause::begin(const HealthRule& rule, Instant now) {
  const bool from_well = self_.level == 0;
  if (from_well) {
    self_.window = window_of(rule);
    forget_old(now);
  }
  const auto remember = [&](std::vector<Instant>& times) {
    std::erase_if(times, [&](Instant time) { return now >= later(time, self_.window); });
    if (times.size() >= kMaxRelapses) times.erase(times.begin());
    times.push_back(now);
  };
  if (from_well ? self_.ended.has_value() : self_.eased) {
    remember(self_.returns);
    self_.damping = damping_of(self_.returns.size(), self_.window);
  }
  if (self_.ended) {
    remember(self_.relapses);
    self_.quarantined = rule.relapses > 0 && self_.relapses.size() >= rule.relapses;
  }
  self_.ended.reset();
  self_.eased = false;
}

Instant Cause::recovers_at(const RuleOf& rule_of) const {
  if (self_.level == 0 || self_.quarantined) return Instant::max();
  const Said& said = self_.newest.at(self_.level);
  const HealthRule& rule = rule_of(said.health.reason);
  const Duration time = std::max(rule.recovery_time, self_.damping);
  // Only a report ends silence, independent of the cause's own recovery.
  switch (said.silent ? Recovery::kReport : rule.recovery) {
    case Recovery::kReport:
      return self_.judged < self_.level ? later(self_.turned.at(self_.level), time) : Instant::max();
    case Recovery::kSilence: return later(self_.said.at(self_.level), time);
    case Recovery::kStable: return later(std::max(self_.value_changed, self_.began), time);
    case Recovery::kOperator: break;
  }
  return Instant::max();
}

void Cause::recover(const RuleOf& rule_of, Instant now) {
  while (recovers_at(rule_of) <= now) {
    if (self_.judged >= self_.level) {
      self_.over = Over::kByTime;
      self_.silent = false;
      set_judged(0, now);
    }
    set_level(self_.judged, now);
  }
}

// Lowers the level that counts.
void Cause::set_level(int level, Instant now) {
  self_.level = level;
  std::erase_if(self_.newest, [&](const auto& entry) { return entry.first > std::max(level, self_.judged); });
  self_.eased = level > 0;
  if (level > 0) return;
  self_.ended = now;
  self_.quarantined = false;
  self_.damping = {};
}

void Cause::forget_old(Instant now) {
  if (!self_.ended || now < later(*self_.ended, self_.window)) return;
  self_.ended.reset();
  self_.relapses = self_.returns = {};
}

Instant Cause::next(const RuleOf& rule_of) const {
  Instant due = std::min(silent_at(rule_of), recovers_at(rule_of));
  for (const auto& [level, said] : self_.newest)
    if (level > self_.level && level <= self_.judged)
      due = std::min(due, later(self_.turned.at(level), rule_of(said.health.reason).hold_down));
  if (self_.ended) due = std::min(due, later(*self_.ended, self_.window));
  return due;
}

CauseHealth Cause::shown(const RuleOf& rule_of) const {
  if (self_.level > 0) {
    const auto& [health, silent] = self_.newest.at(self_.level);
    const HealthRule& rule = rule_of(health.reason);
    CauseHealth counts{silent ? health : as_judged(rule, health, state_of(self_.level)), {}};
    if (!silent) counts.kubelet = rule.kubelet;
    counts.quarantined = self_.quarantined;
    if (self_.quarantined) add_quarantine(rule, counts.health);
    return counts;
  }
  // Pending and ended causes are shown as healthy.
  if (self_.judged > 0 || self_.over != Over::kNo)
    return {{.state = HealthState::kHealthy, .cause = self_.stated.cause}, {}};
  return {as_judged(rule_of(self_.stated.reason), self_.stated, HealthState::kHealthy), {}};
}

bool Cause::show(CauseHealth next, Moment now) {
  next.changed = next.health.state == self_.counts.health.state ? self_.counts.changed : now.wall;
  const bool changed = !looks_alike(next, self_.counts);
  self_.counts = std::move(next);
  return changed;
}

std::optional<CauseRecord> Cause::record(const RuleOf& rule_of, const DeviceKey& device, Moment now) const {
  if (self_.level == 0 && !self_.ended) return std::nullopt;
  CauseRecord record{.device = device,
                     .health = {.state = HealthState::kHealthy, .cause = self_.stated.cause},
                     .changed = self_.counts.changed,
                     .stated = self_.counts.changed,
                     .relapses = {},
                     .quarantined = self_.quarantined};
  if (self_.level > 0) {
    // The remark about the quarantine is left out, since it is added again.
    const auto& [health, silent] = self_.newest.at(self_.level);
    record.health = silent ? health : as_judged(rule_of(health.reason), health, state_of(self_.level));
    // The statement will not be repeated, so only silence itself keeps its timeout, and is recognised by it.
    if (!silent) record.health.timeout = {};
    const bool waits_for_value = rule_of(health.reason).recovery == Recovery::kStable;
    const Instant newest = waits_for_value ? std::max(stated(), self_.value_changed) : stated();
    record.stated = wall_of(silent ? self_.turned.at(self_.level) : newest, now);
  }
  for (const Instant relapse : self_.relapses) record.relapses.push_back(wall_of(relapse, now));
  return record;
}

}  // namespace cardcage
