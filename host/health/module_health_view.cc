// The view of ModuleHealth for others, and the commands of operators and remedies.
#include <fmt/ranges.h>

#include <algorithm>

#include "host/core/timestamp.h"
#include "host/core/utf8.h"
#include "host/health/module_health.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxResets = 100;

// The last statements of a module that is away have no effect, unless only the module or an operator may end them.
bool outlasts_absence(const CauseHealth& cause) {
  return cause.quarantined || advised_taint(cause.health) != TaintEffect::kNone;
}

std::string prefixed(std::string_view prefix, const std::string& message) {
  return cut_utf8(fmt::format("{}{}", prefix, message), kMaxHealthMessage);
}

CauseHealth cordoned(const CordonRecord& cordon) {
  const std::string reason = cordon.reason.empty() ? "" : fmt::format(" ({})", cordon.reason);
  return {
      .health = {.state = HealthState::kDegraded,
                 .reason = "Cordoned",
                 .message = cut_utf8(
                     fmt::format("cordoned by {} since {}{}; 'cagectl device uncordon {}' ends that", cordon.by,
                                 timestamp(cordon.since), reason, cordon.name.empty() ? cordon.device.id : cordon.name),
                     kMaxHealthMessage),
                 .taint = TaintEffect::kNoSchedule,
                 .cause = "Cordoned",
                 .taint_value = "Cordoned"},
      .changed = cordon.since};
}

const CauseHealth* find(const std::vector<CauseHealth>& causes, const std::string& name) {
  const auto found = std::ranges::find(causes, name, [](const CauseHealth& cause) { return cause.health.cause; });
  return found == causes.end() ? nullptr : &*found;
}

}  // namespace

std::vector<CauseHealth> ModuleHealth::causes_of(const Known& known, bool away) const {
  std::vector<CauseHealth> causes;
  causes.reserve(known.causes.size() + 1);
  for (const auto& [name, tracked] : known.causes)
    if (!away || outlasts_absence(tracked.cause.counts())) causes.push_back(tracked.cause.counts());
  if (known.cordon) causes.push_back(cordoned(*known.cordon));
  return causes;
}

// A parent's cause becomes the device's own, unless the device has one as bad already.
void ModuleHealth::add_parent(const std::string& parent_id, bool away, std::vector<CauseHealth>& causes) const {
  const auto parent = devices_.find(parent_id);
  if (parent_id.empty() || parent == devices_.end()) return;
  std::vector<CauseHealth> inherited;
  for (CauseHealth& cause : causes_of(parent->second, away)) {
    if (cause.health.state == HealthState::kHealthy) continue;
    const CauseHealth* own = find(causes, cause.health.cause);
    if (own && severity(own->health.state) >= severity(cause.health.state)) continue;
    cause.of_parent = parent_id;
    cause.health.message = prefixed(fmt::format("of {}: ", parent_id), cause.health.message);
    inherited.push_back(std::move(cause));
  }
  std::ranges::move(inherited, std::back_inserter(causes));
}

DeviceHealth ModuleHealth::health(const Device& device, std::vector<CauseHealth> others, bool away) const {
  const auto known = devices_.find(device.id);
  std::vector<CauseHealth> causes;
  if (known != devices_.end()) causes = causes_of(known->second, away);
  add_parent(device.parent_id, away, causes);
  std::erase_if(causes, [&](const CauseHealth& cause) { return find(others, cause.health.cause) != nullptr; });
  std::ranges::move(others, std::back_inserter(causes));
  DeviceHealth health = compose(std::move(causes));
  if (health.causes.empty() && known != devices_.end()) health.changed = known->second.listed_since;
  return health;
}

DeviceHealth ModuleHealth::health_of_absent(const std::string& device_id) const {
  CauseHealth gone{.health = {.state = HealthState::kUnhealthy,
                              .reason = "Gone",
                              .message = "the module does not list it any more; a claim still holds it",
                              .cause = "Gone"},
                   .changed = {}};
  const auto known = devices_.find(device_id);
  if (known == devices_.end()) return compose({std::move(gone)});
  const Instant left = known->second.left.value_or(clock_.now());
  gone.changed = clock_.wall() - std::chrono::duration_cast<std::chrono::system_clock::duration>(clock_.now() - left);
  return health({.id = device_id, .parent_id = known->second.parent_id}, {std::move(gone)});
}

Task<Status> ModuleHealth::cordon(CordonRecord record) {
  const std::string id = record.device.id;
  if (!knows(id)) co_return fail(Code::kNotFound, "module '{}' has no device '{}'", module_, id);
  if (Status kept = co_await store_.keep(record); !kept) co_return kept;
  // The device may have been forgotten meanwhile.
  const auto [device, fresh] = devices_.try_emplace(id);
  if (fresh) {
    device->second.left = clock_.now();
    leaving_.emplace(clock_.now() + kMaxAbsence, id);
  }
  HealthEvent cordoned = event(HealthEventKind::kCordoned, id, device->second);
  cordoned.name = record.name;
  cordoned.message = record.reason;
  cordoned.by = record.by;
  device->second.cordon = std::move(record);
  note(std::move(cordoned));
  co_return Status();
}

Task<Status> ModuleHealth::uncordon(std::string device_id, std::string by, std::string reason) {
  const CordonRecord* cordon = find_cordon(device_id);
  if (!cordon) co_return fail(Code::kNotFound, "device '{}' of module '{}' is not cordoned", device_id, module_);
  const DeviceKey key = cordon->device;
  if (Status forgotten = co_await store_.forget_cordon(key); !forgotten) co_return forgotten;
  const auto device = devices_.find(device_id);
  if (device == devices_.end() || !device->second.cordon) co_return Status();
  HealthEvent over = event(HealthEventKind::kUncordoned, device_id, device->second);
  over.message = std::move(reason);
  over.by = std::move(by);
  device->second.cordon.reset();
  note(std::move(over));
  co_return Status();
}

const CordonRecord* ModuleHealth::find_cordon(const std::string& device_id) const {
  const auto device = devices_.find(device_id);
  return device == devices_.end() || !device->second.cordon ? nullptr : &*device->second.cordon;
}

std::optional<Device> ModuleHealth::find_device(const std::string& name_or_id) const {
  auto device = devices_.find(name_or_id);
  if (device == devices_.end())
    device = std::ranges::find(devices_, name_or_id, [](const auto& entry) { return entry.second.name; });
  if (device == devices_.end()) return std::nullopt;
  const auto& [id, known] = *device;
  return Device{.id = id, .name = known.name.empty() ? id : known.name, .parent_id = known.parent_id};
}

Status ModuleHealth::clear(const std::string& device_id, const std::string& cause, const std::string& by,
                           const std::string& reason) {
  const auto device = devices_.find(device_id);
  if (device == devices_.end()) return fail(Code::kNotFound, "module '{}' has no device '{}'", module_, device_id);
  const auto tracked = device->second.causes.find(cause);
  if (tracked == device->second.causes.end()) {
    std::vector<std::string> names;
    for (const auto& [name, other] : device->second.causes) names.push_back(fmt::format("'{}'", name));
    return fail(Code::kNotFound, "device '{}' has no cause '{}'; it has {}", device_id, cause,
                names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
  }
  const Moment now = moment();
  Cause& known = tracked->second.cause;
  const HealthState before = known.counts().health.state;
  known.clear(rule_of(tracked->first), now);
  schedule(device->first, cause, tracked->second, known.due());
  keep(device, tracked, true, now);
  if (before == HealthState::kHealthy) return {};
  note_cause(HealthEventKind::kCleared, device, known.counts(), by, reason);
  log_change(device, before, known.counts().health);
  return {};
}

std::vector<std::string> ModuleHealth::resets_wanted() const {
  std::vector<std::string> wanted;
  if (!has_remedy_) return wanted;
  const Instant now = clock_.now();
  for (const auto& [id, known] : devices_) {
    if (!known.listed) continue;
    std::uint32_t allowed = 0;
    for (const auto& [name, tracked] : known.causes)
      if (tracked.cause.counts().health.state != HealthState::kHealthy)
        allowed = std::max(allowed, rules_.find(name, tracked.cause.reason()).resets_per_day);
    const auto recent = std::ranges::count_if(known.resets, [&](Instant reset) { return now - reset < kResetPeriod; });
    if (static_cast<std::size_t>(recent) < allowed) wanted.push_back(id);
  }
  return wanted;
}

Task<Status> ModuleHealth::count_reset(std::string device_id) {
  const auto device = devices_.find(device_id);
  if (device == devices_.end()) co_return fail(Code::kNotFound, "module '{}' has no device '{}'", module_, device_id);
  const Moment now = moment();
  auto keeping = store_.keep(ResetRecord{{module_, device_id}, now.wall});
  if (const Status kept = co_await std::move(keeping); !kept) co_return kept;
  std::vector<Instant>& resets = devices_[device_id].resets;
  std::erase_if(resets, [&](Instant reset) { return now.now - reset >= kResetPeriod; });
  if (resets.size() >= kMaxResets) resets.erase(resets.begin());
  resets.push_back(now.now);
  co_return Status();
}

void ModuleHealth::note_reset(const std::string& device_id, const std::string& by, const std::string& why,
                              const Status& outcome) {
  const auto device = devices_.find(device_id);
  if (device == devices_.end()) return;
  HealthEvent reset =
      event(outcome ? HealthEventKind::kReset : HealthEventKind::kResetFailed, device_id, device->second);
  reset.message = outcome ? why : outcome.error().message;
  reset.by = by.empty() ? "remedy" : by;
  note(std::move(reset));
}

}  // namespace cardcage
