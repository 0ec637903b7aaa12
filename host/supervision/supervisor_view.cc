// What others see of a supervisor.
#include "host/supervision/supervisor.h"

namespace cardcage {

std::string to_string(ModuleState state) {
  switch (state) {
    case ModuleState::kStarting: return "starting";
    case ModuleState::kReady: return "ready";
    case ModuleState::kBackingOff: return "backing off";
    case ModuleState::kBroken: return "broken";
    case ModuleState::kStuck: return "stuck";
    case ModuleState::kQuiesced: return "quiesced";
    case ModuleState::kStopped: return "stopped";
  }
  return "unknown";
}

// Of one that is quiesced or stuck nothing becomes until somebody acts.
bool Supervisor::undecided() const {
  if (state_ == ModuleState::kQuiesced || state_ == ModuleState::kStuck) return false;
  return renew_ || (wanted_ && !refused_) || state_ == ModuleState::kStarting;
}

std::string Supervisor::detail() const {
  if (state_ == ModuleState::kStuck) return stuck_;
  if (const QuiesceMark* mark = quiesced()) return to_string(*mark).substr(std::string_view("quiesced ").size());
  return last_error_ ? last_error_->message : "";
}

std::string Supervisor::warning() const {
  if (state_ == ModuleState::kStuck) return stuck_;
  if (const QuiesceMark* mark = quiesced()) return refusal(*mark).error().message;
  if (state_ == ModuleState::kBroken)
    return fmt::format(
        "module '{0}' is broken: it failed too often and is tried once in 30 min now; 'cagectl module restart {0}' "
        "tries "
        "at once, as a new file does: {1}",
        config_.name, why_away());
  return "";
}

std::string Supervisor::why_away() const {
  if (state_ == ModuleState::kStuck) return stuck_;
  return lost_ ? lost_->message : last_error_ ? last_error_->message : "it has not started yet";
}

Result<std::shared_ptr<Module>> Supervisor::module() const {
  if (const QuiesceMark* mark = quiesced()) return refusal(*mark);
  if (offered_ && !lost_) return module_;
  return fail(Code::kUnavailable, "module '{}' is {}: {}", config_.name, to_string(state_), why_away());
}

DeviceHealth Supervisor::health(const Device& device) const {
  DeviceHealth known = devices_.health(device.id);
  if (const QuiesceMark* mark = quiesced()) {
    known.health =
        Health{.reason = "Quiesced", .message = refusal(*mark).error().message, .taint = TaintEffect::kNoSchedule};
    known.changed = mark->since;
  } else if (!offered_ || lost_) {
    known.health = Health{.reason = "ModuleAway", .message = why_away()};
    known.changed = since_;
  }
  return known;
}

}  // namespace cardcage
